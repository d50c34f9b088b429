#include "core/hlo/fallback_reasons.h"

#include <cstddef>

namespace hloscope::hlo {
namespace {

constexpr struct {
  std::string_view key, text;
} kReasons[] = {
#define FALLBACK_REASON(name, key, text) {key, text},
#include "core/hlo/fallback_reasons.def"
#undef FALLBACK_REASON
};

}  // namespace

std::string_view KeyOf(FallbackReason reason) { return kReasons[static_cast<size_t>(reason)].key; }
std::string_view Describe(FallbackReason reason) {
  return kReasons[static_cast<size_t>(reason)].text;
}

std::string_view WithoutReason(FallbackReason reason, std::string_view message) {
  constexpr std::string_view kColon = ": ";
  const std::string_view text = Describe(reason);
  if (text.empty() || !message.starts_with(text)) return message;
  const std::string_view rest = message.substr(text.size());
  return rest.starts_with(kColon) ? rest.substr(kColon.size()) : message;
}

}  // namespace hloscope::hlo
