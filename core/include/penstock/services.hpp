// Services: the interfaces by which plugins meet. A plugin's manifest says which it provides and
// requires; the host resolves them before any code runs, so `require` cannot fail at run time for a
// declared interface.
#pragma once

#include <string_view>

namespace penstock {

// An interface names itself with `static constexpr std::string_view kServiceName`.
class Services {
 public:
  virtual ~Services() = default;

  // Call in configure(). The object must live until the plugin is destroyed. Providing what the
  // manifest does not declare throws std::logic_error.
  template <class Interface>
  void provide(Interface& service) {
    provide_raw(Interface::kServiceName, &service);
  }

  // Call in start() or later. Requiring what the manifest does not declare throws std::logic_error.
  template <class Interface>
  Interface& require() {
    return *static_cast<Interface*>(require_raw(Interface::kServiceName));
  }

 private:
  virtual void provide_raw(std::string_view name, void* service) = 0;
  virtual void* require_raw(std::string_view name) = 0;
};

}  // namespace penstock
