# How our own code is compiled, and the one way to declare a folder's target.

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()

add_library(gapwatch_flags INTERFACE)
target_include_directories(gapwatch_flags INTERFACE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/generated)
target_compile_options(gapwatch_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
    -Wnon-virtual-dtor -Wold-style-cast -Woverloaded-virtual -Werror>
  # GCC 12 sees overflows in its own std::string when it inlines more; the dev preset keeps these on.
  $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds -Wno-restrict>
  # Sums and terms must be the same bits wherever they are computed.
  -ffp-contract=off -fno-omit-frame-pointer)

if(GAPWATCH_SANITIZE)
  # Among a sanitizer's checks GCC 12 takes Boost's empty optionals for uninitialised; the dev preset keeps this on.
  target_compile_options(gapwatch_flags INTERFACE -fsanitize=${GAPWATCH_SANITIZE} -fno-sanitize-recover=all
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-maybe-uninitialized>)
  target_link_options(gapwatch_flags INTERFACE -fsanitize=${GAPWATCH_SANITIZE})
endif()

if(GAPWATCH_FUZZ)  # the fuzzer is led by what an input makes our code do
  target_compile_options(gapwatch_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

if(GAPWATCH_SANITIZE STREQUAL "thread")  # librdkafka's threads, made visible to it
  add_library(gapwatch_c11_threads SHARED ${CMAKE_SOURCE_DIR}/tests/support/c11_threads_tsan.c)
  target_compile_options(gapwatch_c11_threads PRIVATE -fsanitize=thread)
  target_link_options(gapwatch_c11_threads PRIVATE -fsanitize=thread)
  target_link_options(gapwatch_flags INTERFACE -Wl,--no-as-needed)
  target_link_libraries(gapwatch_flags INTERFACE gapwatch_c11_threads)
endif()

# gapwatch_folder(NAME LINKS ...): the library of one folder, from all its sources.
# What it links is all it may include: the arrows between folders are here.
function(gapwatch_folder name)
  cmake_parse_arguments(ARG "" "" "LINKS;PRIVATE_LINKS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  add_library(gapwatch_${name} STATIC ${sources})
  target_link_libraries(gapwatch_${name} PUBLIC gapwatch_flags ${ARG_LINKS} PRIVATE ${ARG_PRIVATE_LINKS})
  target_precompile_headers(gapwatch_${name} PRIVATE
    <algorithm> <array> <chrono> <cmath> <cstdint> <functional> <map> <memory> <optional> <span>
    <string> <string_view> <unordered_map> <utility> <vector>)
endfunction()
