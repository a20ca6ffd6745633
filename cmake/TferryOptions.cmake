# tferry::options: what every target of ours is compiled with.
option(TFERRY_WERROR "Treat warnings as errors (CI does)" OFF)
set(TFERRY_SANITIZE "" CACHE STRING "Sanitizers to build with: address,undefined or thread")

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()

add_library(tferry_options INTERFACE)
add_library(tferry::options ALIAS tferry_options)
target_include_directories(tferry_options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(tferry_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wold-style-cast
                                                -Wcast-qual -Woverloaded-virtual $<$<BOOL:${TFERRY_WERROR}>:-Werror>)
target_compile_definitions(tferry_options INTERFACE TFERRY_VERSION="${PROJECT_VERSION}")
if(TFERRY_SANITIZE)
  target_compile_options(tferry_options INTERFACE -fsanitize=${TFERRY_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(tferry_options INTERFACE -fsanitize=${TFERRY_SANITIZE})
endif()
