#include "core/ptx/counting.h"

#include <algorithm>

#include "core/ptx/ir/accesses.h"
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

void CountProducts(Element factors, uint64_t products, Counters& counters) {
  switch (factors) {
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
    case Element::kE2m1:  // in pairs
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
    case Operation::kBulkLoad:
    case Operation::kTensorMapLoad:
      return true;
    case Operation::kLd:
    case Operation::kWmmaLoad:
    case Operation::kAtom:
    case Operation::kAtomCas: {
      const StateSpace space = ModifierStateSpace(in);
      return space == StateSpace::kNone || space == StateSpace::kGlobal;
    }
    default:
      return false;
  }
}

// A generic address counts as one of global memory.
void CountBytes(const Instruction& in, uint64_t warps, uint64_t lanes, Counters& counters) {
  for (const Access& access : AccessesOf(in)) {
    const uint64_t bytes = (access.lanes == kLanes ? lanes : warps * access.lanes) * access.bytes;
    const auto add = [&](uint64_t& read, uint64_t& written) {
      if (access.reads()) read += bytes;
      if (access.writes()) written += bytes;
    };
    switch (access.space) {
      case StateSpace::kParam:
      case StateSpace::kParamEntry:
        break;
      case StateSpace::kLocal:
        counters.local_bytes += bytes;
        break;
      case StateSpace::kShared:
      case StateSpace::kSharedCta:
      case StateSpace::kSharedCluster:
        add(counters.shared_read_bytes, counters.shared_written_bytes);
        break;
      default:
        add(counters.global_read_bytes, counters.global_written_bytes);
    }
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
  CountBytes(in, warps, lanes, counters);
  if (IsMma(in.operation)) {
    const MmaForm form = MmaFormOf(in, target);
    CountProducts(form.a, warps * ProductsOf(form), counters);
  }
  if (in.operation == Operation::kWmmaMultiply)
    CountProducts(WmmaFormOf(in, target).a, warps * WmmaProductsOf(in), counters);
  (in.type == Type::kF64 ? counters.double_operations : counters.float_operations) +=
      lanes * FloatOperations(in);
}

void AddRunCounts(const RunCounts& counts, Counters& counters) {
  counters.products_tf32 += counts.products_tf32;
  counters.products_16bit += counts.products_16bit;
  counters.products_8bit += counts.products_8bit;
  counters.products_4bit += counts.products_4bit;
  counters.global_read_bytes += counts.global_read_bytes;
  counters.global_written_bytes += counts.global_written_bytes;
  counters.shared_read_bytes += counts.shared_read_bytes;
  counters.shared_written_bytes += counts.shared_written_bytes;
  counters.local_bytes += counts.local_bytes;
}

void AddTraffic(const Traffic& traffic, const LaunchMemory& memory, Counters& counters) {
  counters.global_read_sectors += traffic.global_read_sectors;
  counters.global_written_sectors += traffic.global_written_sectors;
  counters.shared_read_conflicts += traffic.shared_read_conflicts;
  counters.shared_written_conflicts += traffic.shared_written_conflicts;
  for (const auto* const touched : {&traffic.read_bytes, &traffic.written_bytes}) {
    for (size_t i = 0; i < std::min(touched->size(), memory.arguments.size()); ++i)
      counters.touched_bytes += std::min((*touched)[i], memory.arguments[i].bytes);
  }
}

}  // namespace hloscope::ptx
