// GpuTiles: products of matrices on a GPU whose elements lie anywhere: dots and convolutions.
#pragma once

#include <functional>

#include "core/codegen/dot/dot_results.h"
#include "core/codegen/emit/gpu_block.h"
#include "core/codegen/emit/products.h"
#include "core/linking/kernel_objects.h"

namespace hloscope::codegen {

inline constexpr int64_t kTileSide = 16;        // threads along a side of a tile
inline constexpr int64_t kMaxAtOnceOfTile = 4;  // elements that a thread brings at once

// result[row, column] = Σ_k left[row, k]·right[k, column], for each of some turns.
struct TiledProducts {
  int64_t turns = 1, rows = 1, columns = 1, depth = 1;
  // Where elements of an operand lie, and whether there is one (null: there is); where there is
  // none the place is one that can be read, and the product is left out. Only the left side may
  // have such gaps.
  struct Place {
    llvm::Value* at;
    llvm::Value* is_there = nullptr;
  };
  struct Side {
    bool is_depth_fast = false;  // elements of the depth lie beside each other, else those of lines
    int64_t at_once = 1;         // so many of them begin at multiples of their number
    bool has_gaps = false;       // places may say that there is none
    // Of a row or column; the numbers are always in range.
    std::function<Place(llvm::Value* turn, llvm::Value* line, llvm::Value* k)> place;
  } left, right;
  std::function<llvm::Value*(llvm::Value* turn, llvm::Value* row, llvm::Value* column)> result;
  // Writes an element of the result; null: as it is.
  std::function<void(const Products::Number& sum, const DotResults::Place& place)> write;
};

class GpuTiles {
 public:
  // `contraction`: whose operands the sides are.
  GpuTiles(llvm::Module& module, const Kernel& kernel, hlo::InstructionId contraction,
           const std::string& name, int64_t turns, int64_t rows, int64_t columns);

  KernelFunction& function() { return function_; }
  // Writes the kernel, whose sizes are those that were said.
  linking::EmittedKernel Emit(const std::string& name, const TiledProducts& what);

 private:
  // One of both sides, as the block has it.
  struct Tile {
    const TiledProducts::Side* side;
    hlo::InstructionId operand;
    bool is_left;
    llvm::Value* first;  // line of the tile
    int64_t size;        // lines in all
    int64_t each;        // of a thread, side by side
    std::vector<llvm::Value*> rooms = {};
    std::vector<llvm::Type*> types = {};

    int64_t lines() const { return each * kTileSide; }
    int64_t pitch() const { return lines() + kMaxAtOnceOfTile; }
  };

  llvm::Value* Int(int64_t value) { return function_.Int(value); }
  void ChooseParts(int64_t blocks);
  void Sum();
  void MakeRooms(Tile& tile);
  void Bring(const Tile& tile, llvm::Value* from);
  void Save(const Tile& tile, llvm::Value* x, llvm::Value* is_there, llvm::Value* place);
  void Note(const Products::Number& number);
  std::vector<Products::Number> Take(const Tile& tile, llvm::Value* k, llvm::Value* line);
  void AddProducts(const Tile& left, const Tile& right, llvm::Value* k,
                   std::vector<llvm::Value*>& sums, bool leave_out_gaps);
  std::vector<llvm::Value*> AllProducts(const Tile& left, const Tile& right,
                                        std::vector<llvm::Value*> sums);
  void Write(const std::vector<llvm::Value*>& sums);
  void WriteOne(const Products::Number& sum, const DotResults::Place& place);
  llvm::Value* PartAt(llvm::Value* part, size_t number, llvm::Value* place);
  void AddParts(int64_t blocks);

  const Kernel& kernel_;
  hlo::InstructionId contraction_;
  Products products_;
  KernelFunction function_;
  GpuBlock block_;
  Builder& b_;
  const TiledProducts* what_ = nullptr;
  int64_t rows_ = 1, columns_ = 1;  // of a thread
  int64_t down_tiles_ = 1, along_tiles_ = 1;
  int64_t parts_ = 1, part_size_ = 0;  // of the depth
  llvm::Value *turn_ = nullptr, *part_ = nullptr;
  llvm::Value *first_row_ = nullptr, *first_column_ = nullptr;
  llvm::Value *across_ = nullptr, *down_ = nullptr;  // the thread's place in the tile
  // Where the left side has gaps and numbers are floats: a word that is 1 once the right side had a
  // number that is not finite, and whether the thread brought one.
  llvm::Value *non_finite_room_ = nullptr, *has_non_finite_ = nullptr;
};

}  // namespace hloscope::codegen
