// Which product of a tensor core an instruction asks for.
#include "core/ptx/machine/matrix_form.h"

#include <array>

namespace hloscope::ptx {
namespace {

constexpr size_t kTypes = 0
#define TYPE(enumerator, text, bits, kind) +1
#include "core/ptx/text/types.def"
#undef TYPE
    ;

// Asked for by every product that is executed, so their names are compared once.
Element ElementOfType(Type type) {
  static const auto elements = [] {
    std::array<Element, kTypes> all{};
    for (size_t i = 0; i < kTypes; ++i)
      all[i] = ElementOf(RowOf(static_cast<Type>(i)).text).value_or(Element::kF32);
    return all;
  }();
  return elements[static_cast<size_t>(type)];
}

}  // namespace

MmaForm MmaFormOf(const Instruction& in, uint32_t target) {
  MmaForm form{16,           8, 16, ElementOfType(in.type), ElementOfType(in.source), Element::kF32,
               Element::kF32};
  form.saturate = ModifierSatfinite(in) == Satfinite::kOn;
  form.sm = static_cast<int>(target);
  switch (in.operation) {
    case Operation::kMmaK4:
      form.k = 4;
      break;
    case Operation::kMmaK8:
      form.k = 8;
      break;
    case Operation::kMmaK32:
      form.k = 32;
      break;
    case Operation::kMmaInteger:
      form.k = 32;
      [[fallthrough]];
    case Operation::kMmaInteger16:
      form.c = form.d = Element::kS32;
      break;
    case Operation::kMmaF16K16:
      form.c = form.d = Element::kF16;
      break;
    case Operation::kMmaShape: {
      constexpr int kShapes[][2] = {{8, 16},  {8, 32},  {16, 4}, {16, 8},
                                    {16, 16}, {16, 32}, {16, 64}};
      const auto& [m, k] = kShapes[static_cast<size_t>(ModifierMmaShape(in)) - 1];
      form.m = m;
      form.k = k;
      constexpr Element kSums[] = {Element::kF32, Element::kF16, Element::kS32, Element::kF64};
      form.c = form.d = kSums[static_cast<size_t>(ModifierSums(in)) - 1];
      break;
    }
    case Operation::kMmaNarrow:  // what its registers hold: bytes, or pairs of four bits
      form.k = HoldsPairs(in) ? 64 : 32;
      form.a = form.b = HoldsPairs(in) ? Element::kE2m1 : Element::kE4m3;
      break;
    case Operation::kMmaF64:
      form.m = 8;
      form.k = 4;
      form.c = form.d = Element::kF64;
      break;
    default:
      break;
  }
  return form;
}

}  // namespace hloscope::ptx
