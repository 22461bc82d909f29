# Everything comes from Debian's packages; ops/setup installs them. Minimum
# versions are Debian 12's, and later ones must work.

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(Boost 1.81 REQUIRED CONFIG)
find_package(OpenSSL REQUIRED)
find_package(ZLIB REQUIRED)
find_package(spdlog REQUIRED)
find_package(fmt REQUIRED)
find_package(simdjson REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(CLI11 REQUIRED)
find_package(prometheus-cpp REQUIRED COMPONENTS core)
pkg_check_modules(rdkafka REQUIRED IMPORTED_TARGET rdkafka>=2.0)
pkg_check_modules(rocksdb REQUIRED IMPORTED_TARGET rocksdb>=7.8)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd)

find_program(NODE node REQUIRED)  # 18 or later, with npm: bundles the page (ops/page)
find_program(NPM npm REQUIRED)

if(NOT TARGET yaml-cpp::yaml-cpp)  # the package's own name before 0.8
  add_library(yaml-cpp::yaml-cpp ALIAS yaml-cpp)
endif()
