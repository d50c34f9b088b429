// Which products there are, on which architecture, and how each adds up.
#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "core/ptx/tensor/steps.h"
#include "core/ptx/tensor/tensor.h"

namespace hloscope::ptx {
namespace {

constexpr ElementRow kElements[] = {
#define ELEMENT(enumerator, text, bits, mantissa, bias, specials) \
  {text, bits, mantissa, bias, specials},
#include "core/ptx/tensor/elements.def"
#undef ELEMENT
};

// Floats of eight bits and fewer.
bool IsF8(Element element) { return RowOf(element).bits <= 8 && !IsInteger(element); }

struct RuleRow {
  TensorUnit unit;
  int first_sm, last_sm;
  bool is_f8;
  StepRule rule;
};

// arXiv 2511.10909. There is no row for f8 of mma.sync on sm_90 to sm_119: their cores have no such
// products (IsWidened).
constexpr RuleRow kRules[] = {
    {TensorUnit::kMma, 80, 89, false, {24, 16, 23}},
    {TensorUnit::kMma, 89, 89, true, {13, 16, 13}},
    {TensorUnit::kMma, 90, 129, false, {25, 32, 23}},
    {TensorUnit::kMma, 120, 129, true, {25, 32, 23}},
    {TensorUnit::kWgmma, 90, 90, false, {25, 32, 23}},
    {TensorUnit::kWgmma, 90, 90, true, {13, 32, 13}},
    {TensorUnit::kTcgen05, 100, 119, false, {25, 32, 23}},
    {TensorUnit::kTcgen05, 100, 119, true, {25, 32, 23}},
};

// Elements that may stand together as a and b, the shapes of mma.sync for them, and the types of c
// and d.
struct Family {
  std::string_view elements;  // of a and b; a family of several mixes them
  std::string_view sums;
  std::string_view shapes;
};
constexpr Family kFamilies[] = {
    {"f16", "f16 f32", "m16n8k8 m16n8k16"},
    {"bf16", "f32", "m16n8k8 m16n8k16"},
    {"tf32", "f32", "m16n8k4 m16n8k8"},
    {"f64", "f64", "m8n8k4 m16n8k4 m16n8k8 m16n8k16"},
    {"e4m3 e5m2", "f16 f32", "m16n8k16 m16n8k32"},
    {"e4m3 e5m2 e2m3 e3m2 e2m1", "f16 f32", ""},  // of tcgen05 alone
    {"s8 u8", "s32", "m8n8k16 m16n8k16 m16n8k32"},
    {"s4 u4", "s32", "m8n8k32 m16n8k32 m16n8k64"},
};

bool HasWord(std::string_view words, std::string_view word) {
  for (size_t at = 0; at < words.size();) {
    const size_t end = std::min(words.find(' ', at), words.size());
    if (words.substr(at, end - at) == word) return true;
    at = end + 1;
  }
  return false;
}

const Family* FamilyOf(Element a, Element b) {
  for (const Family& family : kFamilies) {
    if (HasWord(family.elements, NameOf(a)) && HasWord(family.elements, NameOf(b))) return &family;
  }
  return nullptr;
}

// What is the same for all units: the types, and that there is a rule for floats.
Status CheckTypes(TensorUnit unit, int sm, Element a, Element b, Element d, bool saturate) {
  const Family* family = FamilyOf(a, b);
  if (family == nullptr) {
    return UnsupportedError(
        fmt::format("a product of {} and {} on tensor cores, expected elements of one family",
                    NameOf(a), NameOf(b)));
  }
  if (!HasWord(family->sums, NameOf(d))) {
    return UnsupportedError(fmt::format("products of {} added up in {}, expected {}", NameOf(a),
                                        NameOf(d), family->sums));
  }
  if (saturate && !IsInteger(a)) {
    return UnsupportedError(
        fmt::format(".satfinite on products of {}, expected integers", NameOf(a)));
  }
  const bool widened = unit == TensorUnit::kMma && IsWidened(a, sm);
  if (!IsInteger(a) && a != Element::kF64 && !widened && !RuleOf(unit, sm, a)) {
    return UnsupportedError(
        fmt::format("products of {} on sm_{}: how its tensor cores add them up is not known",
                    NameOf(a), sm),
        "compile for sm_80, sm_89 (f8), sm_90 or sm_100, or for f16 in place of f8");
  }
  return {};
}

}  // namespace

const ElementRow& RowOf(Element element) { return kElements[static_cast<size_t>(element)]; }
std::string_view NameOf(Element element) { return RowOf(element).text; }

std::optional<Element> ElementOf(std::string_view text) {
  const auto* row = std::ranges::find(kElements, text, &ElementRow::text);
  if (row == std::end(kElements)) return std::nullopt;
  return static_cast<Element>(row - kElements);
}

std::optional<StepRule> RuleOf(TensorUnit unit, int sm, Element a) {
  for (const RuleRow& row : kRules) {
    if (row.unit == unit && row.first_sm <= sm && sm <= row.last_sm && row.is_f8 == IsF8(a)) {
      return row.rule;
    }
  }
  return std::nullopt;
}

bool IsWidened(Element a, int sm) { return IsF8(a) && sm >= 90 && sm <= 119; }

Status CheckMma(const MmaForm& form) {
  if (form.sm < 80 || form.sm > 129) {
    return UnsupportedError(fmt::format("mma.sync on sm_{}, expected sm_80 to sm_129", form.sm));
  }
  HLOSCOPE_TRY(CheckTypes(TensorUnit::kMma, form.sm, form.a, form.b, form.d, form.saturate));
  if (form.c != form.d) {
    return UnsupportedError(fmt::format("mma.sync with c in {} and d in {}, expected one type",
                                        NameOf(form.c), NameOf(form.d)));
  }
  const std::string shape = fmt::format("m{}n{}k{}", form.m, form.n, form.k);
  const std::string_view shapes = FamilyOf(form.a, form.b)->shapes;
  if (HasWord(shapes, shape)) return {};
  return UnsupportedError(
      fmt::format("mma.sync.{} of {}, expected {}", shape, NameOf(form.a), shapes));
}

Status CheckTile(const TileForm& form) {
  const bool is_wgmma = form.unit == TensorUnit::kWgmma;
  if (form.unit == TensorUnit::kMma || form.a == Element::kF64 ||
      (RowOf(form.a).bits < 8 && (is_wgmma || IsInteger(form.a)))) {
    return UnsupportedError(
        "tiles are products of wgmma of 8 to 32 bits, and of tcgen05 of 4 to 32 bits");
  }
  HLOSCOPE_TRY(CheckTypes(form.unit, form.sm, form.a, form.b, form.d, form.saturate));
  if (is_wgmma ? form.sm != 90 : form.sm < 100 || form.sm > 119) {
    return UnsupportedError(fmt::format("{} on sm_{}", is_wgmma ? "wgmma" : "tcgen05", form.sm));
  }
  const bool is_packed = form.a == Element::kE2m1 && form.b == Element::kE2m1 && form.k == 64;
  const int depth = is_packed ? 64 : 32 / BytesOf(form.a);
  if (form.k != depth || form.m < 1 || form.n < 8 || form.n % 8 != 0) {
    return UnsupportedError(
        fmt::format("a tile m{}n{}k{} of {}, expected k{} and columns by eights", form.m, form.n,
                    form.k, NameOf(form.a), depth));
  }
  return {};
}

int RegistersOf(const MmaForm& form, MmaOperand operand) {
  const auto registers = [](int elements, Element element) {
    return elements * RowOf(element).bits / 32 / 32;
  };
  switch (operand) {
    case MmaOperand::kA:
      return registers(form.m * form.k, form.a);
    case MmaOperand::kB:
      return registers(form.k * form.n, form.b);
    case MmaOperand::kC:
      return registers(form.m * form.n, form.c);
    case MmaOperand::kD:
      return registers(form.m * form.n, form.d);
  }
  return 0;
}

}  // namespace hloscope::ptx
