// What the lines around an error tell beyond the line that names it, kind by kind (evidence.def).
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/dump/errors/error_pattern.h"
#include "core/dump/errors/explain.h"
#include "core/dump/errors/front_end.h"

namespace hloscope::dump {

// An error in a text: its line, and what its row of the table captured. Readers may add captures,
// which the row's reason and fix quote.
struct ErrorPlace {
  const std::vector<std::string_view>& lines;
  size_t at;
  Captures& captures;
  const std::set<std::string>& told;  // keys of errors that were told before

  std::string_view line() const { return lines[at]; }
  // Captured, or empty.
  std::string_view operator[](std::string_view name) const;
  // The line at + k; empty behind the last.
  std::string_view Behind(size_t k) const;
};

struct Evidence {
  std::string key;         // errors of one kind and key are one; empty: those of one reason are
  std::string more;        // behind the reason of the row
  bool is_repeat = false;  // told before, and not read again
};

// Fills in what the row of the table leaves empty; nullopt: nothing is read for the kind.
std::optional<Evidence> ReadEvidence(std::string_view kind, const ErrorPlace& place,
                                     ExplainedError& error);

#define EVIDENCE(kind, function) Evidence function(const ErrorPlace& place, ExplainedError& error);
#define EVIDENCE_TOO(kind, function)
#include "core/dump/errors/evidence.def"
#undef EVIDENCE_TOO
#undef EVIDENCE

// The bytes of "6291456", "384.0KiB", "63.80G"; nullopt: it is no size.
std::optional<double> BytesOf(std::string_view text);
std::string SizeText(double bytes);  // "5.14GiB", as XLA writes it

// The text of an instruction, "%add.3 = f32[4]{0} add(…), metadata={…}", on the first of `most`
// lines from `at` on that has one; empty: none has.
std::string_view FindInstruction(const ErrorPlace& place, size_t at, size_t most);
// Node, file and line as far as the text of an instruction names them and the error does not.
void TakeInstruction(std::string_view text, ExplainedError& error);

// " (E1000, https://openxla.org/xla/errors/error_1000)" where the line carries one of XLA's
// numbers; else empty.
std::string ErrorCodeText(std::string_view line);

}  // namespace hloscope::dump
