#include "core/ptx/counting.h"

#include <algorithm>

#include "core/ptx/machine/matrix_form.h"

namespace hloscope::ptx {
namespace {

// What one lane computes: 0 for what is no arithmetic of floats.
uint64_t FloatOperations(const Instruction& in) {
  const TypeKind kind = RowOf(in.type).kind;
  if (kind != TypeKind::kFloat && kind != TypeKind::kPacked) return 0;
  const uint64_t parts = kind == TypeKind::kPacked ? 2 : 1;
  switch (in.operation) {
    case Operation::kAdd:
    case Operation::kAddMixed:
    case Operation::kSub:
    case Operation::kSubMixed:
    case Operation::kMul:
    case Operation::kDiv:
    case Operation::kEx2:
    case Operation::kLg2:
    case Operation::kSin:
    case Operation::kCos:
    case Operation::kTanh:
    case Operation::kRcp:
    case Operation::kSqrt:
    case Operation::kRsqrt:
      return parts;
    case Operation::kFma:
    case Operation::kFmaMixed:
      return 2 * parts;
    default:
      return 0;
  }
}

void CountProducts(const MmaForm& form, uint64_t warps, Counters& counters) {
  const uint64_t products = warps * ProductsOf(form);
  switch (form.a) {
    case Element::kF64:
      counters.products_f64 += products;
      break;
    case Element::kTf32:
    case Element::kF32:
      counters.products_tf32 += products;
      break;
    case Element::kF16:
    case Element::kBf16:
      counters.products_16bit += products;
      break;
    case Element::kS4:
    case Element::kU4:
      counters.products_4bit += products;
      break;
    default:
      counters.products_8bit += products;
      break;
  }
}

// Whether a warp that needs the value waits for global memory.
bool LoadsGlobal(const Instruction& in) {
  switch (in.operation) {
    case Operation::kCpAsync:
    case Operation::kCpAsyncIgnore:
      return true;
    case Operation::kLd:
    case Operation::kAtom:
    case Operation::kAtomCas: {
      const StateSpace space = ModifierStateSpace(in);
      return space == StateSpace::kNone || space == StateSpace::kGlobal;
    }
    default:
      return false;
  }
}

void CountBytes(const Instruction& in, uint64_t lanes, Counters& counters) {
  const StateSpace space = ModifierStateSpace(in);
  const bool shared = IsShared(space);
  const bool global =
      space == StateSpace::kNone || space == StateSpace::kGlobal || space == StateSpace::kConst;
  const uint64_t bytes = lanes * BytesOf(in.type) * in.vector_width();
  const uint64_t matrix_bytes = lanes * (in.slot_count - 1) * 4;
  switch (in.operation) {
    case Operation::kLd:
      if (space == StateSpace::kParam || space == StateSpace::kParamEntry) break;
      (shared   ? counters.shared_read_bytes
       : global ? counters.global_read_bytes
                : counters.local_bytes) += bytes;
      break;
    case Operation::kSt:
      (shared   ? counters.shared_written_bytes
       : global ? counters.global_written_bytes
                : counters.local_bytes) += bytes;
      break;
    case Operation::kAtom:
    case Operation::kAtomCas:
    case Operation::kRed:
      (shared ? counters.shared_read_bytes : counters.global_read_bytes) += bytes;
      (shared ? counters.shared_written_bytes : counters.global_written_bytes) += bytes;
      break;
    case Operation::kCpAsync:
    case Operation::kCpAsyncIgnore:
      counters.global_read_bytes += lanes * in.value;
      counters.shared_written_bytes += lanes * in.value;
      break;
    case Operation::kLdmatrix:
      counters.shared_read_bytes += matrix_bytes;
      break;
    case Operation::kStmatrix:
      counters.shared_written_bytes += matrix_bytes;
      break;
    default:
      break;
  }
}

}  // namespace

void Count(const Instruction& in, uint32_t target, uint64_t warps, uint64_t lanes,
           Counters& counters) {
  counters.warp_instructions += warps;
  if (LoadsGlobal(in)) counters.global_loads += warps;
  uint64_t* const classes[] = {&counters.arithmetic, &counters.bitwise, &counters.move,
                               &counters.compare,    &counters.convert, &counters.function,
                               &counters.memory,     &counters.control, &counters.warp,
                               &counters.tensor};
  const InstructionClass counted = ClassOf(in.operation);
  *classes[static_cast<size_t>(counted)] += lanes;
  if (counted == InstructionClass::kMemory) CountBytes(in, lanes, counters);
  if (IsMma(in.operation)) {
    CountProducts(MmaFormOf(in, target), lanes / kLanes, counters);
  }
  (in.type == Type::kF64 ? counters.double_operations : counters.float_operations) +=
      lanes * FloatOperations(in);
}

void AddLateCounts(const LateCounts& counts, Counters& counters) {
  counters.products_tf32 += counts.products_tf32;
  counters.products_16bit += counts.products_16bit;
  counters.products_8bit += counts.products_8bit;
  counters.global_read_bytes += counts.bulk_read_bytes;
  counters.shared_written_bytes += counts.bulk_read_bytes;
  counters.global_written_bytes += counts.bulk_written_bytes;
  counters.shared_read_bytes += counts.bulk_written_bytes;
}

void AddTraffic(const Traffic& traffic, const LaunchMemory& memory, Counters& counters) {
  counters.global_read_sectors += traffic.global_read_sectors;
  counters.global_written_sectors += traffic.global_written_sectors;
  counters.shared_read_conflicts += traffic.shared_read_conflicts;
  counters.shared_written_conflicts += traffic.shared_written_conflicts;
  for (size_t i = 0; i < std::min(traffic.read_bytes.size(), memory.arguments.size()); ++i) {
    const uint64_t bytes = memory.arguments[i].bytes;
    counters.touched_bytes +=
        std::min(traffic.read_bytes[i], bytes) + std::min(traffic.written_bytes[i], bytes);
  }
}

}  // namespace hloscope::ptx
