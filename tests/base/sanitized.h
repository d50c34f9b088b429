// Whether this program was built with the address or thread sanitizer.
#pragma once

namespace hloscope {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

// With the thread sanitizer, under which loops of the interpreter take fifty times as long.
#ifdef __SANITIZE_THREAD__
inline constexpr bool kThreadSanitized = true;
#else
inline constexpr bool kThreadSanitized = false;
#endif

// Why a test that draws with software OpenGL is left out then: the driver is unloaded at the end,
// and what it never freed would be reported as leaks of nobody.
inline constexpr const char* kDriverLeaks = "leaks of the OpenGL driver are not ours";

}  // namespace hloscope
