// Flags, variables and changes of the program that reports advise, judged by what happened where
// they were tried.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/dump/run_record.h"

namespace hloscope::dump {

// How it went; the words of advice_tried.def.
enum class AdviceOutcome : uint8_t {
  kWorks,    // the program ran, and what it is advised for was there
  kUnknown,  // a flag that XLA or TensorFlow refused, or a call that the framework has not
  kCrashes,  // the program was killed by a signal, and was not without it
  kNoEffect  // the program ran, and left nothing more than without it
};

enum class AdviceState : uint8_t { kTried, kUntried, kFails };
struct AdviceVerdict {
  AdviceState state = AdviceState::kTried;
  // "untried with TensorFlow 2.19.0", "--xla_dump_hlo_snapshots crashes TensorFlow 2.21 (SIGSEGV)";
  // empty: it was tried with this version, or nothing is known of the framework.
  std::string note;
};

// Of a text that names flags, variables and calls ("XLA_FLAGS=--xla_dump_to=DIR"), for a framework
// and its version (empty: unknown). The worst of them counts. Versions are the same where major and
// minor are.
AdviceVerdict JudgeAdvice(std::string_view advice, std::string_view framework,
                          std::string_view version);

// Whether the run had all flags and variables that the text names already. False where it names
// none; whether a change of the program was made, the record does not tell.
bool WasFollowed(std::string_view advice, const RunRecord& record);

}  // namespace hloscope::dump
