# Files that belong to no target, and the same files at the same relative places in the build tree.
install(DIRECTORY schema DESTINATION ${PENSTOCK_SHARE_DIR})
install(DIRECTORY etc/ DESTINATION ${CMAKE_INSTALL_SYSCONFDIR}/penstock)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/${PENSTOCK_SHARE_DIR})
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/schema ${CMAKE_BINARY_DIR}/${PENSTOCK_SHARE_DIR}/schema SYMBOLIC)
