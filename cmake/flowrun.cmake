# What every target shares: warnings as errors, the compiler cache, the fast linker, and the shape of a layer.

find_program(CCACHE ccache)
if(CCACHE)
  # Paths inside the project count as relative, so that clones share what was compiled once.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE})
endif()
find_program(MOLD mold)
if(MOLD)
  add_link_options(-fuse-ld=mold)
endif()

add_compile_options(-Wall -Wextra -Wpedantic -Wshadow=local -Wnon-virtual-dtor -Woverloaded-virtual -Werror
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)  # false positives of GCC 12 in std::string (GCC PR 105651)

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(fmt REQUIRED)
find_package(TBB REQUIRED)
find_package(Protobuf REQUIRED)
find_package(hwy REQUIRED)
find_package(ZLIB REQUIRED)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(URING REQUIRED IMPORTED_TARGET liburing)
pkg_check_modules(LZ4 REQUIRED IMPORTED_TARGET liblz4)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)

# flowrun_layer(NAME SOURCES file... [DEPENDS target...])
# One static library flowrun_NAME. DEPENDS names the layers and packages it may use; they are public, because a layer's
# headers include those of the layers below.
function(flowrun_layer name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(flowrun_${name} STATIC ${ARG_SOURCES})
  add_library(flowrun::${name} ALIAS flowrun_${name})
  target_include_directories(flowrun_${name} PUBLIC ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  target_link_libraries(flowrun_${name} PUBLIC ${ARG_DEPENDS})
endfunction()

# flowrun_test(NAME SOURCES file... [DEPENDS target...] [LABELS label...])
# One GoogleTest program tests_NAME; ctest runs each of its suites' cases.
function(flowrun_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;LABELS" ${ARGN})
  add_executable(tests_${name} ${ARG_SOURCES})
  target_link_libraries(tests_${name} PRIVATE ${ARG_DEPENDS} GTest::gtest GTest::gmock GTest::gtest_main)
  set_target_properties(tests_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  gtest_discover_tests(tests_${name} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} DISCOVERY_TIMEOUT 60
    PROPERTIES TIMEOUT 300 LABELS "${ARG_LABELS}")
endfunction()
