# hloscope_fmt: {fmt} as an archive, of the headers of Debian's package, which has a shared library alone: each library that is not opened makes every
# start shorter, and programs run where that version of it is not installed.
find_package(fmt REQUIRED)
file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/generated/fmt_library.cc CONTENT [[// Definitions of {fmt} and those of its templates that its headers declare extern.
#include <fmt/format-inl.h>

#include <locale>

FMT_BEGIN_NAMESPACE
namespace detail {
template auto dragonbox::to_decimal(float) noexcept -> dragonbox::decimal_fp<float>;
template auto dragonbox::to_decimal(double) noexcept -> dragonbox::decimal_fp<double>;
template locale_ref::locale_ref(const std::locale&);
template auto locale_ref::get<std::locale>() const -> std::locale;
template auto thousands_sep_impl(locale_ref) -> thousands_sep_result<char>;
template auto decimal_point_impl(locale_ref) -> char;
template void buffer<char>::append(const char*, const char*);
template void vformat_to(buffer<char>&, string_view, basic_format_args<FMT_BUFFER_CONTEXT(char)>, locale_ref);
}  // namespace detail
FMT_END_NAMESPACE
]])
add_library(hloscope_fmt STATIC ${CMAKE_BINARY_DIR}/generated/fmt_library.cc)
target_compile_features(hloscope_fmt PUBLIC cxx_std_23)
target_compile_options(hloscope_fmt PRIVATE -w -O2)
target_compile_definitions(hloscope_fmt PUBLIC $<TARGET_PROPERTY:fmt::fmt,INTERFACE_COMPILE_DEFINITIONS>)
target_include_directories(hloscope_fmt SYSTEM PUBLIC $<TARGET_PROPERTY:fmt::fmt,INTERFACE_INCLUDE_DIRECTORIES>)
