// The custom calls whose targets are known; custom_calls.def has the names.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/hlo/expand/call_site.h"

namespace hloscope::hlo::expand {

/// What a custom call does.
enum class CustomCall : uint8_t {
  kUnsupported,  // nothing that can be run
  kExpansion,    // what its Expander writes
  // One computation each, which platforms have as code of their own.
  kApplyQ,
  kCalledComputation,
  kCholeskyFactor,
  kEffect,
  kEnterManual,
  kFormQ,
  kGeneralEigen,
  kGeneralEigenPacked,
  kHessenberg,
  kIdentity,
  kLeaveManual,
  kLu,
  kPadToStatic,
  kPivotedQr,
  kPivotsToPermutation,
  kQr,
  kRandomSeed,
  kRefuse,
  kSchur,
  kSingularValues,
  kSliceToDynamic,
  kSparseDenseProduct,
  kSymmetricEigen,
  kThreefry,
  kTridiagonal,
  kTridiagonalSolve,
  kZeroBuffer,  // the last
};
inline constexpr size_t kCustomCalls = static_cast<size_t>(CustomCall::kZeroBuffer) + 1;

/// Writes a call as a module whose entry takes the call's operands.
using Expander = Result<ModulePtr> (*)(const CallSite& call);

/// `?` in the target stands for any one character, `*` for any number of them.
struct CustomCallRow {
  std::string_view target;
  CustomCall meaning;
  Expander expand;            // null but for kExpansion
  std::string_view source;    // where its meaning is written
  std::string_view why, fix;  // where it cannot be run

  bool runs() const { return meaning != CustomCall::kUnsupported; }
};
/// The row of a target; null where it is unknown.
const CustomCallRow* FindCustomCall(std::string_view target);
/// That of an instruction; null where it is not a custom call either.
const CustomCallRow* FindCustomCall(const Module& module, InstructionId id);

/// True for a custom call that hands values on, has an effect alone, or only runs a computation
/// whose instructions are counted themselves.
bool TakesNoWork(const Module& module, InstructionId id);

// Every expander there is; a name in custom_calls.def that is not there does not link.
#define CUSTOM_CALL(target, meaning, source)
#define CUSTOM_CALL_EXPANDED(target, name, source) \
  Result<ModulePtr> Expand##name(const CallSite& call);
#define CUSTOM_CALL_UNSUPPORTED(target, why, fix)
#include "core/hlo/expand/custom_calls.def"
#undef CUSTOM_CALL
#undef CUSTOM_CALL_EXPANDED
#undef CUSTOM_CALL_UNSUPPORTED

}  // namespace hloscope::hlo::expand
