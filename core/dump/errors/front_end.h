// FrontEnd: which framework made the program that an error is about.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace hloscope::dump {

enum class FrontEnd : uint8_t { kUnknown, kJax, kTensorFlow, kKeras, kTorch, kJulia, kElixir };

// By the lines around `lines[error]`: paths of packages, names of exceptions and functions.
FrontEnd FrontEndOf(const std::vector<std::string_view>& lines, size_t error);

}  // namespace hloscope::dump
