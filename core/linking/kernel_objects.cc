#include "core/linking/kernel_objects.h"

#include <unordered_map>

#include "core/base/byte_archive.h"
#include "core/linking/linked_code.h"

namespace hloscope::linking {

using compile::GrainFunction;
using compile::KernelCode;

template <typename A>
void Archive(A& archive, Archived<A, EmittedKernel>& kernel) {
  auto& code = kernel.code;
  archive(code.name, code.grains, code.scratch_bytes, code.grain_bytes, code.calls_are_alike,
          code.in_place);
  archive(kernel.is_complete, kernel.has_finish);
}

template <typename A>
void Archive(A& archive, Archived<A, WrittenLoop>& loop) {
  archive(loop.name, loop.step, loop.scratch_bytes);
}

template <typename A>
void Archive(A& archive, Archived<A, KernelObjects::Object>& object) {
  archive(object.bytes, object.kernels, object.loops);
}

namespace {

class Library : public compile::KernelLibrary {
 public:
  const KernelCode* Find(hlo::InstructionId id) const override {
    const auto found = by_instruction.find(id.index);
    return found == by_instruction.end() ? nullptr : found->second;
  }
  const compile::LoopCode* FindLoop(int64_t step) const override {
    const auto found = loops.find(step);
    return found == loops.end() ? nullptr : &found->second;
  }
  int64_t function_count() const override { return static_cast<int64_t>(codes.size()); }

  LinkedCode linked;
  std::vector<std::unique_ptr<KernelCode>> codes;
  std::unordered_map<uint32_t, const KernelCode*> by_instruction;
  std::unordered_map<int64_t, compile::LoopCode> loops;
};

template <typename Function>
Result<Function> FunctionOf(const Library& library, const std::string& name) {
  HLOSCOPE_ASSIGN_OR_RETURN(void* const address, library.linked.Find(name));
  return reinterpret_cast<Function>(address);
}

// The code of a kernel in the library; null where it has none.
Result<const KernelCode*> Add(Library& library, EmittedKernel kernel) {
  if (!kernel.is_complete) return nullptr;
  auto code = std::make_unique<KernelCode>(std::move(kernel.code));
  HLOSCOPE_ASSIGN_OR_RETURN(code->run, FunctionOf<GrainFunction>(library, code->name));
  if (kernel.has_finish) {
    HLOSCOPE_ASSIGN_OR_RETURN(code->finish,
                              FunctionOf<GrainFunction>(library, code->name + kFinishSuffix));
  }
  return library.codes.emplace_back(std::move(code)).get();
}

}  // namespace

std::string ToImage(const KernelObjects& written) {
  ByteWriter out;
  out(written.objects, written.uses);
  return std::move(out).Take();
}

Result<std::unique_ptr<compile::KernelLibrary>> Link(KernelObjects written) {
  auto library = std::make_unique<Library>();
  std::vector<const KernelCode*> codes;
  for (KernelObjects::Object& object : written.objects) {
    if (object.bytes.empty()) continue;  // of a loop that there is no code for
    HLOSCOPE_TRY(library->linked.Add(std::as_bytes(std::span(object.bytes))));
    for (EmittedKernel& kernel : object.kernels) {
      HLOSCOPE_ASSIGN_OR_RETURN(const KernelCode* const code, Add(*library, std::move(kernel)));
      codes.push_back(code);
    }
    for (const WrittenLoop& loop : object.loops) {
      compile::LoopCode& code = library->loops[loop.step];
      code.name = loop.name;
      code.scratch_bytes = loop.scratch_bytes;
      HLOSCOPE_ASSIGN_OR_RETURN(code.run, FunctionOf<compile::LoopFunction>(*library, loop.name));
    }
  }
  for (const auto [instruction, kernel] : written.uses) {
    if (kernel >= codes.size()) return InternalError("an image of kernels names one it lacks");
    if (codes[kernel] != nullptr) library->by_instruction[instruction] = codes[kernel];
  }
  return library;
}

Result<std::unique_ptr<compile::KernelLibrary>> LoadKernels(std::span<const std::byte> image) {
  ByteReader in(image);
  KernelObjects written;
  in(written.objects, written.uses);
  if (!in.ok() || !in.empty()) return InternalError("an image of kernels is cut off");
  return Link(std::move(written));
}

}  // namespace hloscope::linking
