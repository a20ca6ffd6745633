# Dependencies: found here, once; what each is for and what is off without it is told by feature_summary.
find_package(CUDAToolkit 13.0 QUIET)
set(TFERRY_HAVE_CUDA ${CUDAToolkit_FOUND})
add_feature_info(CUDA TFERRY_HAVE_CUDA "runtime library, collector and CUDA samples (CUDA toolkit 13.0 or newer)")
if(NOT TFERRY_HAVE_CUDA)
  message(STATUS "No CUDA toolkit: the runtime library, the collector and the CUDA samples are not built; all else is.")
endif()

find_package(Threads REQUIRED)
# The static library where there is one: the bundle's programs run where no SQLite is installed.
find_library(TFERRY_SQLITE NAMES libsqlite3.a sqlite3)
if(TFERRY_SQLITE)
  set(SQLite3_LIBRARY ${TFERRY_SQLITE} CACHE FILEPATH "SQLite" FORCE) # also in build folders of before
endif()
find_package(SQLite3 REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(GTest REQUIRED)
include(GoogleTest)
find_package(CLI11 REQUIRED)
find_package(Qt6 6.4 QUIET COMPONENTS Widgets Svg Test)
set(TFERRY_HAVE_QT ${Qt6_FOUND})
add_feature_info(viewer TFERRY_HAVE_QT "tferry-gui, the timeline viewer (Qt 6.4 or newer)")
