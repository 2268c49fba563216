#include "load/bench/bench_server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <stdexcept>
#include <thread>

namespace penstock::load {
namespace {

namespace fs = std::filesystem;

constexpr Milliseconds kReadyWithin{30'000};
constexpr Milliseconds kStopWithin{30'000};

// The embedded tier's, and the yardstick.
constexpr const char* kPlugins =
    "plugins=stock_memory, order_store_sql, transport_sql, order_intake, outbox_publisher, order_consumer, "
    "timeout_release, reconciler, metrics, bench_trivial";

// Free now; nobody else on this machine is likely to take it before the server does.
std::uint16_t free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  const bool bound = ::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
                     ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  ::close(socket);
  if (!bound) throw std::runtime_error("no free port on 127.0.0.1");
  return ntohs(address.sin_port);
}

std::string get(const std::string& path) {
  return "GET " + path + " HTTP/1.1\r\nHost: penstock\r\n\r\n";
}

}  // namespace

Fetched fetch(const Target& target, const std::string& request) {
  Loop loop(target);
  Client client(loop, Milliseconds(10'000));
  Fetched fetched;
  client.send(request, [&](const Answer& answer) {
    fetched = {answer.status, std::string(answer.body)};
    loop.stop();
  });
  loop.run();
  return fetched;
}

BenchServer::BenchServer(BenchServerSettings settings)
    : settings_(std::move(settings)),
      programs_(fs::read_symlink("/proc/self/exe").parent_path()),
      public_port_(free_port()),
      operator_port_(free_port()) {
  fs::create_directories(settings_.directory);
  link_plugins();
  const auto stock = settings_.directory / "stock.csv";
  std::ofstream(stock) << "product,name,quantity,price_minor,currency,limit_per_user,pay_within_seconds\n"
                       << kPlentiful << ",Plentiful,100000000,100,EUR,,36000\n"
                       << kScarce << ",Scarce,1,100,EUR,,36000\n";
  run_to_end({"migrate"});
  run_to_end({"stock", "load", stock});
  process_ = std::make_unique<ChildProcess>(command({"serve"}), settings_.directory / "serve.log");
  await_ready();
}

BenchServer::~BenchServer() = default;

void BenchServer::stop() {
  if (!process_->terminate(kStopWithin)) {
    throw std::runtime_error("penstock serve did not stop cleanly; see " +
                             (settings_.directory / "serve.log").string());
  }
}

double BenchServer::metric(const std::string& sample) const {
  const auto page = fetch({"127.0.0.1", operator_port_}, get("/metrics")).body;
  const auto at = page.find("\n" + sample + " ");
  return at == std::string::npos ? 0 : std::strtod(page.c_str() + at + sample.size() + 2, nullptr);
}

bool BenchServer::books_balance() const {
  return ChildProcess(command({"audit"}), settings_.directory / "audit.log").wait();
}

std::vector<std::string> BenchServer::command(std::vector<std::string> subcommand) const {
  subcommand.insert(subcommand.begin(), programs_ / "penstock");
  const auto set = [&](const std::string& pair) {
    subcommand.push_back("--set");
    subcommand.push_back(pair);
  };
  subcommand.insert(subcommand.end(), {"-c", settings_.config});
  set("data.dir=" + settings_.directory.string());
  set(kPlugins);
  set("plugins.dir=" + (settings_.directory / "plugins").string());
  set("http.public.port=" + std::to_string(public_port_));
  set("http.operator.port=" + std::to_string(operator_port_));
  for (const auto& pair : settings_.set) set(pair);
  return subcommand;
}

void BenchServer::run_to_end(std::vector<std::string> subcommand) const {
  const std::string name = subcommand.front();
  const auto log = settings_.directory / (name + ".log");
  if (!ChildProcess(command(std::move(subcommand)), log).wait()) {
    throw std::runtime_error("penstock " + name + " failed; see " + log.string());
  }
}

void BenchServer::link_plugins() const {
  const auto to = settings_.directory / "plugins";
  const auto library = programs_.parent_path() / "lib" / "penstock";
  fs::create_directory(to);
  for (const char* from : {"plugins", "bench"}) {
    for (const auto& file : fs::directory_iterator(library / from)) {
      fs::create_symlink(fs::absolute(file.path()), to / file.path().filename());
    }
  }
}

void BenchServer::await_ready() {
  const auto deadline = std::chrono::steady_clock::now() + kReadyWithin;
  while (fetch({"127.0.0.1", operator_port_}, get("/health/ready")).status != 200) {
    if (!process_->running() || std::chrono::steady_clock::now() > deadline) {
      throw std::runtime_error("penstock serve did not become ready; see " +
                               (settings_.directory / "serve.log").string());
    }
    std::this_thread::sleep_for(Milliseconds(50));
  }
}

}  // namespace penstock::load
