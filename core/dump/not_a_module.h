// What a file without a module is instead.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/dump/listing/sniff.h"

namespace hloscope::dump {

/// That the file at `path`, which begins with `bytes` and is of a kind without a module, is none:
/// what it is, and what to do. Unsupported where an XLA plugin can make one of it.
Error NotAModule(const std::string& path, std::string_view bytes, FileKind kind);

}  // namespace hloscope::dump
