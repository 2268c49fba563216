# How everything is compiled, and where the results go: the build tree has the installation's layout,
# so the program finds its plugins and files in both by the same relative paths.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
# Release keeps its asserts: a broken invariant must stop the process, not corrupt the books.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1")

add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Werror
                    # GCC 12 reports overlapping copies in std::string's operator+ that do not exist
                    # (https://gcc.gnu.org/bugzilla/show_bug.cgi?id=105651).
                    -Wno-restrict
                    # It also takes the other alternatives of a moved std::variant for uninitialized
                    # reads (https://gcc.gnu.org/bugzilla/show_bug.cgi?id=80635).
                    -Wno-maybe-uninitialized)

set(PENSTOCK_SANITIZE "" CACHE STRING "thread, or address (with undefined behaviour), or empty")
if(PENSTOCK_SANITIZE STREQUAL "thread")
  add_compile_options(-fsanitize=thread -O1 -g)
  add_link_options(-fsanitize=thread)
elseif(PENSTOCK_SANITIZE STREQUAL "address")
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -O1 -g)
  add_link_options(-fsanitize=address,undefined)
elseif(PENSTOCK_SANITIZE)
  message(FATAL_ERROR "PENSTOCK_SANITIZE is '${PENSTOCK_SANITIZE}'; allowed: thread, address, or empty")
endif()

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

include(GNUInstallDirs)
set(PENSTOCK_PLUGIN_DIR ${CMAKE_INSTALL_LIBDIR}/penstock/plugins)
if(CMAKE_INSTALL_LIBDIR MATCHES "^lib/.+")  # lib/x86_64-linux-gnu: keep the build tree simple
  set(PENSTOCK_PLUGIN_DIR lib/penstock/plugins)
endif()
set(PENSTOCK_SHARE_DIR share/penstock)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/static)

find_package(Threads REQUIRED)
find_package(Boost 1.74 REQUIRED COMPONENTS filesystem system)
find_package(Poco 1.11 REQUIRED COMPONENTS Foundation Util JSON Data DataSQLite)
find_package(prometheus-cpp REQUIRED COMPONENTS core)

# `product`: what `./dev run` needs, without the tests.
add_custom_target(product)
