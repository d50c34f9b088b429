// The nearest name, or the first few.
#include "app/name_hint.h"

#include <fmt/format.h>

namespace hloscope::app {
namespace {

constexpr size_t kFew = 8;

}  // namespace

void NameHint::Offer(std::string_view name) {
  closest_.Offer(name);
  if (count_++ >= kFew) return;
  first_ += first_.empty() ? "" : ", ";
  first_ += name;
}

std::string NameHint::Text(std::string_view none) const {
  if (count_ == 0) return std::string(none);
  if (const std::string hint = closest_.Hint(); !hint.empty()) return hint;
  if (count_ <= kFew) return fmt::format("{}: {}", kind_, first_);
  return fmt::format("{}: {}, … ({} in all)", kind_, first_, count_);
}

}  // namespace hloscope::app
