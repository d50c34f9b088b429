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

struct RedactedModule {
  std::shared_ptr<const hlo::Module> module;
  std::string text;                // its HLO text, every constant in full
  std::vector<std::string> notes;  // where redaction changed more than names and metadata
};

// Names, texts of attributes and metadata, stack frames. Fields of protos that nobody knows are
// left out, as are source files, lines and stack frames where they are dropped. Internal error: the
// result does not parse.
Result<RedactedModule> RedactModule(const hlo::Module& module, Redactor& redactor,
                                    SourceLines source, const Limits& limits);

// HLO text with its quoted texts redacted; paths of source files as a whole.
std::string RedactHloText(std::string_view text, Redactor& redactor);

}  // namespace hloscope::debug
