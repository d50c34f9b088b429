// What differs between two instructions, as texts for people.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "core/analysis/align/fingerprint.h"
#include "core/hlo/literal.h"
#include "core/hlo/module.h"

namespace hloscope::analysis {

// "1 became 2"; of long texts the part around the first difference.
std::string BecameText(std::string_view a, std::string_view b);
// The text, its end cut off where it is long.
std::string ShortText(std::string_view text);

// "1 became 2", "element [0,3]: 1 became 2"; empty where they are equal. Signs of
// zeros and bits of NaNs count; `exact`: denormals too, which are zeros else.
std::string ConstantChangeText(const hlo::Literal& a, const hlo::Literal& b, bool exact);

// The attributes that count, by name, each as a text that is equal for equal meanings.
std::map<std::string, std::string> AttributeTexts(const hlo::Module& module,
                                                  hlo::InstructionId instruction,
                                                  const FingerprintOptions& options);
// The value as HLO text has it; empty where the instruction has no attribute of that name.
std::string AttributeValueText(const hlo::Module& module, hlo::InstructionId instruction,
                               std::string_view name);

// The instruction without metadata; constants of more than 10 elements are elided.
std::string PlainText(const hlo::Module& module, hlo::InstructionId instruction);

}  // namespace hloscope::analysis
