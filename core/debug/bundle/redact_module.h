// RedactModule: a module that does not say who made it and where, and still runs as it did.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/debug/bundle/redactor.h"
#include "core/hlo/module.h"

namespace hloscope::debug {

enum class SourceLines : uint8_t { kKept, kDropped };

/// What goes in of texts that no replay reads: scopes of op_name, frontend attributes that are not
/// of XLA or a framework, comments of PTX and LLVM IR, the StableHLO and the PTX as text.
enum class FreeText : uint8_t { kNeeded, kAll };

/// How modules and their kernels are redacted.
struct RedactionOptions {
  SourceLines source = SourceLines::kKept;
  FreeText text = FreeText::kNeeded;
};

struct RedactedModule {
  std::shared_ptr<const hlo::Module> module;
  std::string text;                // its HLO text, every constant in full
  std::vector<std::string> notes;  // where redaction changed more than names and metadata
};

// Names, texts of attributes and metadata, stack frames. Payloads (backend configurations, values
// of frontend attributes) stay as they are, or are replaced whole where they show a secret. Unknown
// fields of protos are left out, as are source files, lines and stack frames where they are
// dropped. Internal error: the result does not parse.
Result<RedactedModule> RedactModule(const hlo::Module& module, Redactor& redactor,
                                    RedactionOptions options, const Limits& limits);

// HLO text with its quoted texts redacted but for payloads; paths of source files as a whole.
std::string RedactHloText(std::string_view text, Redactor& redactor);

}  // namespace hloscope::debug
