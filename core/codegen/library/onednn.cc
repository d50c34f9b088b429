// oneDNN on one thread.
#include "core/codegen/library/onednn.h"

#include <omp.h>

#include <memory>
#include <unordered_map>

namespace hloscope::codegen {
namespace {

constexpr size_t kAlignment = 64;

// The type of that name; `undef` for what oneDNN has none for.
dnnl::memory::data_type OneDnnType(hlo::ElementType type) {
  using Type = dnnl::memory::data_type;
  if (type == hlo::ElementType::kF32) return Type::f32;
  if (type == hlo::ElementType::kBF16) return Type::bf16;
  return Type::undef;
}

}  // namespace

const dnnl::engine& OneDnnEngine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  omp_set_num_threads(1);
  return engine;
}

std::byte* Room(std::vector<std::byte>& memory, size_t bytes) {
  if (memory.size() < bytes + kAlignment) memory.resize(bytes + kAlignment);
  void* place = memory.data();
  size_t room = memory.size();
  return static_cast<std::byte*>(std::align(kAlignment, bytes, place, room));
}

ElementTypes ElementTypesOf(const hlo::Module& module, hlo::InstructionId id) {
  const auto operands = module.operands(id);
  const std::array ids = {operands[0], operands[1], id};
  ElementTypes out{};
  for (size_t i = 0; i < ids.size(); ++i) {
    const hlo::ElementType type = module.shape(ids[i]).element_type();
    out.types[i] = OneDnnType(type);
    out.bytes[i] = hlo::BitWidth(type) / 8;
  }
  return out;
}

dnnl::memory::desc FormOf(const ArrayForm& array) {
  return {array.sizes, OneDnnType(array.type), array.strides};
}

dnnl::memory::desc AnyFormOf(const ArrayForm& array) {
  return {array.sizes, OneDnnType(array.type), dnnl::memory::format_tag::any};
}

Status MakeWithOneDnn(const std::function<void()>& make) {
  try {
    make();
    return {};
  } catch (const dnnl::error& error) {
    return UnsupportedError(std::string("oneDNN: ") + error.what(), "");
  }
}

Status RunOneDnn(const dnnl::primitive& primitive, const dnnl::memory::desc& scratch,
                 std::span<const OneDnnArgument> arguments) {
  try {
    const dnnl::engine& engine = OneDnnEngine();
    thread_local dnnl::stream stream(engine);
    std::unordered_map<int, dnnl::memory> all;
    for (const OneDnnArgument& each : arguments) {
      all.emplace(each.what,
                  dnnl::memory(*each.form, engine, const_cast<std::byte*>(each.address)));
    }
    thread_local std::vector<std::byte> scratch_memory;
    if (scratch.get_size() > 0) {
      all.emplace(DNNL_ARG_SCRATCHPAD,
                  dnnl::memory(scratch, engine, Room(scratch_memory, scratch.get_size())));
    }
    primitive.execute(stream, all);
    stream.wait();
    return {};
  } catch (const dnnl::error& error) {
    return InternalError(std::string("oneDNN: ") + error.what());
  }
}

}  // namespace hloscope::codegen
