# hloscope_llvm: LLVM as a library to link. A target with the property STATIC_LLVM takes what it needs out of LLVM's archives: the loader then
# neither looks up LLVM's symbols nor opens what Debian's libLLVM needs (z3, libxml2, ICU …), which is half of the time of
# a first compilation. Tests take the shared library, which is linked in no time.
find_package(LLVM 19.1 REQUIRED CONFIG)
# LLVM reads and writes compressed sections with zstd.
find_library(ZSTD_ARCHIVE libzstd.a REQUIRED)
llvm_map_components_to_libnames(archives x86codegen x86asmparser x86desc x86info nvptxcodegen nvptxdesc nvptxinfo passes object)
# With all that they need of LLVM: the list grows while it is read.
set(at 0)
list(LENGTH archives count)
while(at LESS count)
  list(GET archives ${at} name)
  get_target_property(needs ${name} INTERFACE_LINK_LIBRARIES)
  list(FILTER needs INCLUDE REGEX "^LLVM")
  list(APPEND archives ${needs})
  list(REMOVE_DUPLICATES archives)
  list(LENGTH archives count)
  math(EXPR at "${at} + 1")
endwhile()
list(TRANSFORM archives REPLACE "(.+)" "${LLVM_LIBRARY_DIRS}/lib\\1.a")
add_library(hloscope_llvm INTERFACE)
target_include_directories(hloscope_llvm SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
set(is_static $<BOOL:$<TARGET_PROPERTY:STATIC_LLVM>>)
target_link_directories(hloscope_llvm INTERFACE $<$<NOT:${is_static}>:${LLVM_LIBRARY_DIRS}>)
target_link_libraries(hloscope_llvm INTERFACE
  "$<${is_static}:-Wl,--start-group;${archives};-Wl,--end-group;${ZSTD_ARCHIVE};ZLIB::ZLIB>" "$<$<NOT:${is_static}>:LLVM>")
