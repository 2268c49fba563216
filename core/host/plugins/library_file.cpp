#include "host/plugins/library_file.hpp"

#include <elf.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <vector>

namespace penstock::host {
namespace {

#if defined(__x86_64__)
constexpr Elf64_Half kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr Elf64_Half kMachine = EM_AARCH64;
#else
#error "name this machine's ELF number here"
#endif
constexpr unsigned char kByteOrder = std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;

struct Fault {
  std::string found;
  std::string needed;
};

std::optional<Fault> check_header(const Elf64_Ehdr& header) {
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return Fault{"no ELF file", "a shared library"};
  const bool same_machine = header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_ident[EI_DATA] == kByteOrder &&
                            header.e_machine == kMachine;
  if (!same_machine) return Fault{"a library of another machine", "one built for this machine"};
  if (header.e_type != ET_DYN) return Fault{"an ELF file of another kind", "a shared library"};
  if (header.e_phentsize != sizeof(Elf64_Phdr)) return Fault{"a damaged ELF header", "a shared library"};
  return std::nullopt;
}

// Offsets and sizes come from the file: a sum may wrap around.
std::uint64_t end_of(std::uint64_t offset, std::uint64_t size) {
  return size > UINT64_MAX - offset ? UINT64_MAX : offset + size;
}

// The byte behind the last one that the headers speak of.
std::uint64_t needed_bytes(const Elf64_Ehdr& header, const std::vector<Elf64_Phdr>& segments) {
  auto end = end_of(header.e_shoff, std::uint64_t{header.e_shnum} * header.e_shentsize);
  for (const auto& segment : segments) end = std::max(end, end_of(segment.p_offset, segment.p_filesz));
  return end;
}

std::optional<Fault> check_file(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    return Fault{std::filesystem::exists(path, error) ? "something that is no file" : "no such file",
                 "the plugin's shared library"};
  }
  std::ifstream stream(path, std::ios::binary);
  if (!stream)
    return Fault{std::string("no readable file (") + std::strerror(errno) + ")", "a shared library"};
  const std::uint64_t size = std::filesystem::file_size(path, error);

  Elf64_Ehdr header{};
  if (!stream.read(reinterpret_cast<char*>(&header), sizeof header)) {
    return Fault{std::to_string(size) + " bytes, less than an ELF header", "a complete shared library"};
  }
  if (auto fault = check_header(header)) return fault;
  std::vector<Elf64_Phdr> segments(header.e_phnum);
  stream.seekg(static_cast<std::streamoff>(header.e_phoff));
  const auto bytes = static_cast<std::streamsize>(segments.size() * sizeof(Elf64_Phdr));
  const bool complete = static_cast<bool>(stream.read(reinterpret_cast<char*>(segments.data()), bytes));
  const auto needed = complete ? needed_bytes(header, segments) : 0;
  if (complete && needed <= size) return std::nullopt;
  return Fault{"a truncated library of " + std::to_string(size) + " bytes",
               complete ? std::to_string(needed) + " bytes" : "a complete shared library"};
}

}  // namespace

Problems check_library_file(const std::filesystem::path& path) {
  const auto fault = check_file(path);
  if (!fault) return {};
  return {{path.string(), "the library", fault->found, fault->needed,
           "rebuild or reinstall the plugin, or remove it from `plugins`"}};
}

}  // namespace penstock::host
