# What is installed beside the program, how that is taken away again, and Debian's packages of it (make package):
# flowrun, and flowrun-dev with what plugins are built with.
include(GNUInstallDirs)

# Manual pages and completions are what the program says about itself; without the target documents, which is among all,
# they are not installed. Not for sanitizers' builds, which nobody installs.
find_program(GZIP gzip)
if(TARGET flowrun AND NOT CMAKE_CXX_FLAGS MATCHES fsanitize)
  set(documents ${CMAKE_BINARY_DIR}/documents)
  add_custom_command(
    OUTPUT ${documents}/made
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${documents}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${documents}
    COMMAND flowrun man --all ${documents}/man1
    COMMAND ${GZIP} -9 -n -r ${documents}/man1
    COMMAND flowrun completion bash -o ${documents}/flowrun
    COMMAND flowrun completion zsh -o ${documents}/_flowrun
    COMMAND flowrun completion fish -o ${documents}/flowrun.fish
    COMMAND ${CMAKE_COMMAND} -E touch ${documents}/made
    DEPENDS flowrun
    VERBATIM)
  add_custom_target(documents ALL DEPENDS ${documents}/made)
  install(DIRECTORY ${documents}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT runtime OPTIONAL)
  install(FILES ${documents}/flowrun DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT runtime OPTIONAL)
  install(FILES ${documents}/_flowrun DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT runtime OPTIONAL)
  install(FILES ${documents}/flowrun.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT runtime OPTIONAL)

  # What Debian wants to know of every package.
  configure_file(cmake/package/changelog.in ${CMAKE_BINARY_DIR}/package/changelog @ONLY)
  add_custom_command(
    OUTPUT ${CMAKE_BINARY_DIR}/package/changelog.gz
    COMMAND ${GZIP} -9 -n -k -f ${CMAKE_BINARY_DIR}/package/changelog
    DEPENDS ${CMAKE_BINARY_DIR}/package/changelog
    VERBATIM)
  add_custom_target(package_changelog ALL DEPENDS ${CMAKE_BINARY_DIR}/package/changelog.gz)
  file(READ LICENSE license)
  string(REGEX REPLACE "\n\n" "\n.\n" license "${license}")
  string(REGEX REPLACE "\n([^\n])" "\n \\1" license "${license}")
  configure_file(cmake/package/copyright.in ${CMAKE_BINARY_DIR}/package/copyright @ONLY)
  foreach(package flowrun flowrun-dev)
    if(package STREQUAL "flowrun")
      set(component runtime)
    else()
      set(component development)
    endif()
    install(FILES ${CMAKE_BINARY_DIR}/package/copyright ${CMAKE_BINARY_DIR}/package/changelog.gz
      DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} COMPONENT ${component} OPTIONAL)
  endforeach()
endif()

install(FILES cmake/package/flowrun-dev.overrides DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides
  COMPONENT development RENAME flowrun-dev)

# Takes away what `cmake --install` of this folder has put somewhere last.
add_custom_target(uninstall
  COMMAND ${CMAKE_COMMAND} -DMANIFEST=${CMAKE_BINARY_DIR}/install_manifest.txt
    -P ${CMAKE_CURRENT_SOURCE_DIR}/cmake/uninstall.cmake
  VERBATIM)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME flowrun)
set(CPACK_PACKAGE_CONTACT "Flowrun maintainers <maintainers@flowrun.invalid>" CACHE STRING "who answers for the packages")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "external sorting and dataflow jobs over data larger than memory")
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_COMPONENTS_ALL runtime development)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME flowrun)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_RUNTIME_DESCRIPTION
"A job is a YAML file with a graph of file nodes, streaming nodes and
sort nodes. It is checked and planned before it runs, in a fixed budget
of memory, and spills to several disks at once. The command sorts lines
of text, too, with the options of GNU sort.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME flowrun-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "flowrun (>= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION
"Plugins are shared libraries with functions, aggregates and operators
for the jobs of flowrun. These are the headers that they are built with,
and packages of them for CMake and pkg-config.")
include(CPack)
