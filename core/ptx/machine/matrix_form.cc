// Which product of a tensor core an instruction asks for.
#include "core/ptx/machine/matrix_form.h"

namespace hloscope::ptx {

MmaForm MmaFormOf(const Instruction& in, uint32_t target) {
  MmaForm form{16,
               8,
               16,
               *ElementOf(RowOf(in.type).text),
               *ElementOf(RowOf(in.source).text),
               Element::kF32,
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
