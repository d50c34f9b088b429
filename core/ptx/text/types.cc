#include "core/ptx/text/types.h"

#include <array>

namespace hloscope::ptx {
namespace {

constexpr std::array kTypeRows = {
#define TYPE(enumerator, text, bits, kind) TypeRow{text, bits, TypeKind::kind},
#include "core/ptx/text/types.def"
#undef TYPE
};

}  // namespace

const TypeRow& RowOf(Type type) { return kTypeRows[static_cast<size_t>(type)]; }

std::optional<Type> TypeOf(std::string_view text) {
  for (size_t i = 0; i < kTypeRows.size(); ++i) {
    if (kTypeRows[i].text == text) return static_cast<Type>(i);
  }
  return std::nullopt;
}

}  // namespace hloscope::ptx
