# penstock_add_plugin(NAME name SOURCES file... [LIBRARIES target...])
#
# From plugins/NAME/plugin.json, plugin.cpp and the listed sources makes
#   NAME_logic   a static library of the sources, for the plugin and for its tests
#   NAME         the shared library, with the manifest compiled in and written beside it
# The fingerprint put into the manifest covers the SDK's headers, the compiler and the sanitizer:
# whatever changes the layout of a type that crosses the plugin boundary.

set(PENSTOCK_ABI 1)

file(GLOB_RECURSE _sdk_headers CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/../core/include/penstock/*.hpp
                                                 ${CMAKE_CURRENT_LIST_DIR}/../include/penstock/*.hpp)
list(FILTER _sdk_headers EXCLUDE REGEX "/testkit/")
list(SORT _sdk_headers)
set(_sdk_text "")
foreach(header IN LISTS _sdk_headers)
  file(SHA256 ${header} _digest)
  string(APPEND _sdk_text ${_digest})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
endforeach()
string(SHA256 _sdk_digest "${_sdk_text}")
string(SUBSTRING "${_sdk_digest}" 0 12 _sdk_digest)
string(REGEX MATCH "^[0-9]+" _compiler_major "${CMAKE_CXX_COMPILER_VERSION}")
set(PENSTOCK_FINGERPRINT "sdk-${_sdk_digest}/${CMAKE_CXX_COMPILER_ID}-${_compiler_major}")
if(PENSTOCK_SANITIZE)
  string(APPEND PENSTOCK_FINGERPRINT "/${PENSTOCK_SANITIZE}")
endif()

# Writes OUT.json and OUT.cpp from a hand-written manifest, completed with what only the build knows.
function(penstock_write_manifest source json_file cpp_file)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
  file(READ ${source} manifest)
  string(JSON manifest SET "${manifest}" version "\"${PROJECT_VERSION}\"")
  string(JSON manifest SET "${manifest}" abi "${PENSTOCK_ABI}")
  string(JSON manifest SET "${manifest}" fingerprint "\"${PENSTOCK_FINGERPRINT}\"")
  file(CONFIGURE OUTPUT ${json_file} CONTENT "${manifest}\n" @ONLY)
  file(CONFIGURE OUTPUT ${cpp_file} CONTENT
"// Made by the build from plugin.json.
#include \"penstock/plugin.hpp\"
namespace penstock { extern const char* const kPluginManifest; const char* const kPluginManifest = R\"penstock(${manifest}
)penstock\"; }
" @ONLY)
endfunction()

function(penstock_add_plugin)
  cmake_parse_arguments(ARG "" "NAME" "SOURCES;LIBRARIES" ${ARGN})
  set(generated ${CMAKE_CURRENT_BINARY_DIR}/${ARG_NAME}_manifest.cpp)
  penstock_write_manifest(${CMAKE_CURRENT_SOURCE_DIR}/plugin.json
                          ${CMAKE_BINARY_DIR}/${PENSTOCK_PLUGIN_DIR}/${ARG_NAME}.json ${generated})

  add_library(${ARG_NAME}_logic STATIC ${ARG_SOURCES})
  target_include_directories(${ARG_NAME}_logic PUBLIC ${PROJECT_SOURCE_DIR}/plugins)
  target_link_libraries(${ARG_NAME}_logic PUBLIC penstock_sdk ${ARG_LIBRARIES})

  add_library(${ARG_NAME} MODULE plugin.cpp ${generated})
  target_link_libraries(${ARG_NAME} PRIVATE ${ARG_NAME}_logic)
  set_target_properties(${ARG_NAME} PROPERTIES
    PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/${PENSTOCK_PLUGIN_DIR}
    INSTALL_RPATH "$ORIGIN/../..")
  add_dependencies(product ${ARG_NAME})
  install(TARGETS ${ARG_NAME} LIBRARY DESTINATION ${PENSTOCK_PLUGIN_DIR})
  install(FILES ${CMAKE_BINARY_DIR}/${PENSTOCK_PLUGIN_DIR}/${ARG_NAME}.json DESTINATION ${PENSTOCK_PLUGIN_DIR})
endfunction()
