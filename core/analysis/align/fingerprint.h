// Fingerprints: what an instruction means, without names, ids, order, metadata or spelling.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/hlo/literal.h"
#include "core/hlo/module.h"

namespace hloscope::analysis {

// The value of an attribute as a text that is equal for equal meanings, whatever module it stands
// in; empty where the value is what an absent attribute means. Called computations are left out.
std::string AttributeKeyText(const hlo::Module& module, const hlo::Instruction& instruction,
                             const hlo::Attribute& attribute);

// By instruction: a get-tuple-element that nobody uses, or that repeats an earlier one, and is no
// root. XLA's text with compact get-tuple-elements leaves those out, so they do not count.
std::vector<bool> UnusedElements(const hlo::Module& module);

// Which constants count by their values. XLA's text elides those of more than 10 elements, so a
// text is aligned with its proto by the small ones; elided constants always count by their shape.
enum class ConstantValues : uint8_t { kSmall, kAll };

// A hash of the value of a constant, by its bits. Denormals count where it is `exact`; otherwise as
// XLA's text carries them, as zeros.
uint64_t LiteralHash(const hlo::Literal& literal, bool exact = false);

struct FingerprintOptions {
  ConstantValues constants = ConstantValues::kSmall;
  // Whether get-tuple-elements other than roots count with their attributes, which a text with
  // compact operands (%t#0) leaves out.
  bool element_attributes = true;
};

// True for a text with compact operands. XLA's reader and ours call what %t#0 stands for t_0.
bool HasCompactOperands(const hlo::Module& module);

// True for an attribute that `options` leave out.
bool IsLeftOut(const hlo::Module& module, hlo::InstructionId instruction,
               const hlo::Attribute& attribute, const FingerprintOptions& options);

// Hashes of a module's parts.
struct Fingerprints {
  std::vector<uint64_t> own;           // of an instruction: opcode, shape, attributes
  std::vector<uint64_t> local;         // … and called computations
  std::vector<uint64_t> full;          // with its operands' full ones and control predecessors
  std::vector<uint64_t> computations;  // root and everything inside
};
Fingerprints Fingerprint(const hlo::Module& module, const FingerprintOptions& options = {});

}  // namespace hloscope::analysis
