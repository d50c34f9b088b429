#include "core/debug/run/fix_of_error.h"

#include "core/debug/pieces/refusals.h"
#include "core/dump/errors/error_table.h"

namespace hloscope::debug {
namespace {

std::string_view FixOf(hlo::FallbackReason reason) {
  switch (reason) {
    case hlo::FallbackReason::kCustomCall:
      // Whatever refused it.
      return "choose a platform that has it: jaxlib has the custom calls of JAX, interpreter and "
             "cpu compute many of them";
    case hlo::FallbackReason::kNoDriver:
      return "`hloscope doctor` says what is missing; gpu-sim needs no GPU";
    default:
      return {};
  }
}

}  // namespace

std::string FixOf(const Error& error) {
  if (!error.hint.empty()) return error.hint;
  if (const std::string_view fix = FixOf(ReasonInWords(error.message)); !fix.empty())
    return std::string(fix);
  const auto found = dump::FindError(error.message, error.message);
  if (!found || found->row->is_general) return {};
  return dump::FillIn(found->row->fix, found->captures);
}

}  // namespace hloscope::debug
