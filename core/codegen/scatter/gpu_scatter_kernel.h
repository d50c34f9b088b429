// GpuScatterKernel: a scatter while its kernel for a GPU is being written, in one of four ways
// (GpuScatterForm::way).
#pragma once

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/codegen/emit/emit_kernel.h"
#include "core/codegen/emit/gpu_block.h"
#include "core/codegen/scatter/gpu_scatter_form.h"

namespace hloscope::codegen {

class GpuScatterKernel {
 public:
  GpuScatterKernel(llvm::Module& module, const Kernel& kernel, const std::string& name);

  EmittedKernel Emit(const std::string& name);

 private:
  llvm::Value* Int(int64_t value) { return function_.Int(value); }
  // In which launch.
  void InPass(int64_t pass, const std::function<void()>& body);
  // Calls body(i) for every i below `count`, once in all threads of a launch.
  void ForAll(int64_t count, const std::function<void(llvm::Value*)>& body);

  // ---- Which updates there are.

  // Where something is to be combined, and whether it is (null: it is).
  using Place = std::pair<llvm::Value*, llvm::Value*>;
  // Where the window of update `number` begins, and whether it is in the block's places.
  Place PlaceOf(llvm::Value* number);
  // Where an element of a window lies, from the window's first on.
  llvm::Value* OffsetOf(llvm::Value* element);
  // The same of a unit: an element of an update, counted through all of them.
  Place PlaceOfUnit(llvm::Value* unit);
  std::vector<llvm::Value*> Updates(llvm::Value* number, llvm::Value* element);
  std::vector<llvm::Value*> UpdatesOfUnit(llvm::Value* unit);

  std::vector<llvm::Value*> Combined(std::vector<llvm::Value*> values,
                                     const std::vector<llvm::Value*>& updates);
  hlo::ElementType TypeOf(size_t i) const;
  std::vector<llvm::Value*> Load(llvm::Value* at);
  void Store(const std::vector<llvm::Value*>& values, llvm::Value* at);

  // ---- Tile by tile (gpu_scatter_tiles.cc).

  void InTiles();
  void BeginTiles();
  using Look = std::function<Place(llvm::Value* number)>;
  void GoThrough(int64_t count, const Look& look, const std::function<void(llvm::Value*)>& apply);
  llvm::Value* Note(llvm::Value* tile, llvm::Value* before, int64_t count, const Look& look);
  llvm::Value* CountOf(llvm::Value* lanes);
  llvm::Value* SumOfWarps(llvm::Value* own);
  llvm::Value* NumberAt(llvm::Value* i);
  llvm::Value* PlaceAt(llvm::Value* i);
  void Apply(llvm::Value* count);
  void LongWindowsOfTeams(llvm::Value* count);
  void LongWindow(llvm::Value* i);
  void ShortWindows(llvm::Value* count, int64_t window,
                    const std::function<std::vector<llvm::Value*>(llvm::Value* number,
                                                                  llvm::Value* element)>& updates);

  // ---- At once (gpu_scatter_kernel.cc), by lists (gpu_scatter_lists.cc).

  void AtOnce();
  void ByLists();
  void Link(llvm::Value* unit);
  void ApplyList(llvm::Value* at);
  std::pair<llvm::Value*, llvm::Value*> NextOfList(llvm::Value* first, llvm::Value* after,
                                                   int64_t most);
  llvm::Value* ListWord(int64_t first, llvm::Value* i);

  // ---- By exact sums (gpu_scatter_sums.cc).

  void BySums();
  void SumChunk();
  llvm::Value* KeyOfChunk(llvm::Value* at);
  llvm::Value* SumOfChunk(llvm::Value* at);
  llvm::Value* KeyOf(llvm::Value* bits);
  llvm::Value* Multiple(llvm::Value* bits, llvm::Value* key, int64_t point);
  llvm::Value* NonFinite(llvm::Value* bits);
  void AddChunks(llvm::Value* first, llvm::Value* team, int64_t teams, llvm::Value* lane,
                 int64_t lanes);

  const Kernel& kernel_;
  ScatterWindows windows_;
  size_t arity_;
  std::span<const int64_t> whole_, updates_;
  std::vector<size_t> batch_;  // dimensions of the updates that tell windows apart
  GpuScatterForm of_;
  KernelFunction function_;
  GpuBlock block_;
  Builder& b_;
  IndexMath math_;
  ElementEmitter emitter_;
  llvm::Value *part_ = nullptr, *lane_ = nullptr, *warp_ = nullptr;
  // Numbers and places of the updates that are noted; how many each warp has of a tile.
  llvm::Value *numbers_room_ = nullptr, *places_room_ = nullptr, *sums_room_ = nullptr;
  bool has_failed_ = false;
};

}  // namespace hloscope::codegen
