# What every target shares: warnings as errors, the compiler cache, the fast linker, and the shape of a layer.

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${PROJECT_SOURCE_DIR}/cmake/cached_compiler ${CCACHE})
endif()
find_program(MOLD mold)
if(MOLD)
  add_link_options(-fuse-ld=mold)
endif()

# GCC compiles what is released, and clang what the sanitizers run: it takes two thirds of the time.
add_compile_options(-Wall -Wextra -Wpedantic -Wnon-virtual-dtor -Woverloaded-virtual -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # The last three have false positives in std::string (GCC PR 105329, 105651).
  add_compile_options(-Wshadow=local -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow)
else()
  add_compile_options(-Wthread-safety)  # what mutexes guard: engine/base/mutex.h
endif()

if(CMAKE_CXX_FLAGS MATCHES fsanitize=.*undefined)
  # What the sanitizer says of each place holds half a million pointers. At a fixed address they need no relocation,
  # which is a fifth of the time that a program takes to start, and the tests start ten thousand.
  add_link_options($<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-no-pie>)
endif()

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
find_library(RE2_LIBRARY re2 REQUIRED)  # its re2.pc says -pthread, which precompiled headers refuse
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(ISAL REQUIRED IMPORTED_TARGET libisal)
pkg_check_modules(LZMA REQUIRED IMPORTED_TARGET liblzma)
find_package(BZip2 REQUIRED)

# Headers of the standard library and of packages that most sources include, read once for all of them. Headers of the
# project are not among them, so that a change compiles what it must and no more; but two are: the job's messages, which
# hardly change and cost most, and what defines an operator, which nearly all operators and tests of jobs include.
set(flowrun_headers_common
  <algorithm> <array> <atomic> <bit> <chrono> <condition_variable> <cstdint> <cstring> <deque> <exception> <filesystem>
  <functional> <limits> <map> <memory> <mutex> <optional> <set> <span> <string> <string_view> <thread> <unordered_map>
  <utility> <variant> <vector> <fmt/format.h>)
set(flowrun_headers_message ${flowrun_headers_common} <specs/job.pb.h>)
set(flowrun_headers_operator ${flowrun_headers_message} <engine/exec/operator_definition.h>)
set(flowrun_headers_test ${flowrun_headers_common} <random> <gtest/gtest.h> <gmock/gmock.h>)
set(flowrun_headers_job_test ${flowrun_headers_test} <specs/job.pb.h> <engine/exec/operator_definition.h>)

# Gives a target one of these sets. The first target that asks for a set makes it; the others use the same one.
function(flowrun_precompile target set)
  if(set MATCHES "test")
    # What is tested is optimised as it is shipped; the tests themselves are compiled in four fifths of the time. (With
    # -O0 in half of it, but then they run four times as long, which costs more.) All that use one set have the same
    # options.
    target_compile_options(${target} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O1>)
  endif()
  if(NOT FLOWRUN_PRECOMPILED_HEADERS)
    return()
  endif()
  get_property(maker GLOBAL PROPERTY flowrun_precompiled_${set})
  if(maker)
    target_precompile_headers(${target} REUSE_FROM ${maker})
    return()
  endif()
  target_precompile_headers(${target} PRIVATE ${flowrun_headers_${set}})
  set_property(GLOBAL PROPERTY flowrun_precompiled_${set} ${target})
endfunction()

# flowrun_layer(NAME SOURCES file... [DEPENDS target...])
# One static library flowrun_NAME. DEPENDS names the layers and packages it may use; they are public, because a layer's
# headers include those of the layers below.
function(flowrun_layer name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(flowrun_${name} STATIC ${ARG_SOURCES})
  add_library(flowrun::${name} ALIAS flowrun_${name})
  target_include_directories(flowrun_${name} PUBLIC ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  target_link_libraries(flowrun_${name} PUBLIC ${ARG_DEPENDS})
  if(name STREQUAL "operators")
    flowrun_precompile(flowrun_${name} operator)
  elseif(name MATCHES "^(specs|plan|exec|plugin|cluster)$")
    flowrun_precompile(flowrun_${name} message)
  else()
    flowrun_precompile(flowrun_${name} common)
  endif()
endfunction()

# flowrun_test(NAME SOURCES file... [DEPENDS target...] [LABELS label...] [AT_LENGTH_WITH_SANITIZERS])
# One GoogleTest program tests_NAME. ctest runs each of its cases in a process of its own, so that `ctest -R` finds it by
# its name. With FLOWRUN_TEST_SHARDS (the presets of sanitizers, whose programs take longer to start than most cases to
# run) it runs so many processes instead, each with its share of the cases: tests_NAME.1, tests_NAME.2, …
# AT_LENGTH_WITH_SANITIZERS: as at_length_with_sanitizers() in tests/CMakeLists.txt. The preset asan builds such a program
# with the target at_length only.
function(flowrun_test name)
  cmake_parse_arguments(ARG "AT_LENGTH_WITH_SANITIZERS" "" "SOURCES;DEPENDS;LABELS" ${ARGN})
  add_executable(tests_${name} ${ARG_SOURCES})
  if(ARG_AT_LENGTH_WITH_SANITIZERS AND CMAKE_CXX_FLAGS MATCHES fsanitize=address)
    list(APPEND ARG_LABELS at_length)
    set_target_properties(tests_${name} PROPERTIES EXCLUDE_FROM_ALL ON)
    add_dependencies(at_length tests_${name})
  endif()
  target_link_libraries(tests_${name} PRIVATE ${ARG_DEPENDS} GTest::gtest GTest::gmock GTest::gtest_main)
  set_target_properties(tests_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  if("flowrun_test_jobs" IN_LIST ARG_DEPENDS)
    flowrun_precompile(tests_${name} job_test)
  else()
    flowrun_precompile(tests_${name} test)
  endif()
  if(FLOWRUN_TEST_SHARDS EQUAL 0)
    gtest_discover_tests(tests_${name} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} DISCOVERY_TIMEOUT 60
      PROPERTIES TIMEOUT 300 LABELS "${ARG_LABELS}")
    return()
  endif()
  foreach(shard RANGE 1 ${FLOWRUN_TEST_SHARDS})
    math(EXPR index "${shard} - 1")
    add_test(NAME tests_${name}.${shard} COMMAND tests_${name} --gtest_brief=1 WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(tests_${name}.${shard} PROPERTIES TIMEOUT 600 LABELS "${ARG_LABELS}"
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${FLOWRUN_TEST_SHARDS};GTEST_SHARD_INDEX=${index}")
  endforeach()
endfunction()
