# flowrun_add_plugin(NAME sources…): a plugin NAME.so that shows nothing but its one entry.
#
# What is linked into it stays its own: other plugins and flowrun may use other versions of the same libraries. So its
# symbols are hidden, those of static libraries too, and none is unique in the process.
function(flowrun_add_plugin name)
  add_library(${name} MODULE ${ARGN})
  target_link_libraries(${name} PRIVATE flowrun::plugin)
  set(script "${CMAKE_CURRENT_BINARY_DIR}/${name}.version")
  file(CONFIGURE OUTPUT "${script}" CONTENT "{ global: flowrun_plugin_v1; local: *; };\n")
  set_target_properties(${name} PROPERTIES
    PREFIX "" SUFFIX ".so" CXX_VISIBILITY_PRESET hidden C_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    LINK_DEPENDS "${script}")
  target_link_options(${name} PRIVATE "LINKER:--version-script=${script}" "LINKER:--exclude-libs,ALL")
  # Without a sanitizer, a name that is missing is found when the plugin is linked and not when a job needs it.
  if(NOT "${CMAKE_CXX_FLAGS}" MATCHES "-fsanitize")
    target_link_options(${name} PRIVATE "LINKER:--no-undefined")
  endif()
  # A stack that is used up ends in its guard page, and not in the stack of another thread.
  target_compile_options(${name} PRIVATE -fstack-clash-protection)
  # flowrun loads no file that others may write, which a umask of 002 lets a group do.
  add_custom_command(TARGET ${name} POST_BUILD
    COMMAND chmod go-w "$<TARGET_FILE:${name}>" "$<TARGET_FILE_DIR:${name}>" VERBATIM)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${name} PRIVATE -fno-gnu-unique)
  endif()
endfunction()
