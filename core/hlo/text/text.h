// HLO text: reading every generation, and XLA's prints byte for byte.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/limits.h"
#include "core/hlo/diagnostic.h"
#include "core/hlo/module.h"

namespace hloscope::hlo {

struct ParseResult {
  std::shared_ptr<const Module> module;  // null if there is an error
  std::vector<Diagnostic>
      diagnostics;  // at most limits.diagnostics errors; warnings for unknown attributes
  bool ok() const { return module != nullptr; }
};

// Reads a module, or a single instruction as XLA does. Never allocates by a size the text declares.
ParseResult ParseText(std::string_view text, const Limits& limits = {});

// True if the bytes look like HLO text (a HloModule header, ENTRY, or an instruction), after
// comments and log prefixes.
bool LooksLikeHloText(std::string_view bytes);

enum class TextFormat : uint8_t {
  kHlo,     // XLA's default print with every constant in full and unknown attributes kept: nothing
            // lost
  kElided,  // XLA's default HloModule::ToString(): constants of more than 10 elements are {...}
  kShort,   // XLA's HloPrintOptions::ShortParsable()
  kCanonical,  // XLA's HloPrintOptions::Canonical()
};
void PrintText(const Module& module, TextFormat format, std::string& out);
// One computation or one instruction (without a leading `ROOT`) in that format. Of one instruction
// the stack frame keeps the number it has in the module; XLA renumbers what it prints as a whole.
void PrintText(const Module& module, ComputationId computation, TextFormat format,
               std::string& out);
void PrintText(const Module& module, InstructionId instruction, TextFormat format,
               std::string& out);

// Prints instructions one by one, as PrintText does. What the prints share (texts of shapes and of
// metadata, facts about the whole module) is made once, when the first instruction wants it.
class InstructionPrinter {
 public:
  InstructionPrinter(const Module& module, TextFormat format);
  ~InstructionPrinter();
  // Valid until the next call.
  std::string_view Text(InstructionId id);
  // The value of an attribute that is no computation, "{{0,1},{1,0}}". Valid until the next call.
  std::string_view ValueText(const Instruction& instruction, const Attribute& attribute);

 private:
  std::string text_;
  std::unique_ptr<class TextPrinter> printer_;
};

}  // namespace hloscope::hlo
