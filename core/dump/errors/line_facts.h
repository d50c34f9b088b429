// LineFacts: what a line with errors and those around it say, whatever the error is.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/dump/errors/front_end.h"
#include "core/dump/errors/traceback.h"

namespace hloscope::dump {

// Each is read when it is first asked for, so that many errors in a long line are linear work.
class LineFacts {
 public:
  LineFacts(const std::vector<std::string_view>& lines, size_t at) : lines_(lines), at_(at) {}

  const SourceLine& source();
  FrontEnd front_end();
  // " (E0102, https://…)" of the line or of that before it; empty: they name no code.
  const std::string& code();
  // Whether JAX tells in it where the operation stands whose error it raises once more.
  bool is_cause();

 private:
  const std::vector<std::string_view>& lines_;
  size_t at_;
  std::optional<SourceLine> source_;
  std::optional<FrontEnd> front_end_;
  std::optional<std::string> code_;
  std::optional<bool> is_cause_;
};

}  // namespace hloscope::dump
