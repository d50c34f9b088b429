// GpuTiles: products of matrices on a GPU whose elements lie anywhere: dots and convolutions.
#pragma once

#include <functional>

#include "core/codegen/emit/gpu_block.h"
#include "core/codegen/emit/products.h"

namespace hloscope::codegen {

inline constexpr int64_t kTileSide = 16;  // threads along a side of a tile

// result[row, column] = Σ_k left[row, k]·right[k, column], for each of some turns.
struct TiledProducts {
  int64_t turns = 1, rows = 1, columns = 1, depth = 1;
  // Where elements of an operand lie, and whether there is one (null: there is); where there is
  // none the place is one that can be read, and the element is zero.
  struct Place {
    llvm::Value* at;
    llvm::Value* is_there = nullptr;
  };
  struct Side {
    bool is_depth_fast = false;  // elements of the depth lie beside each other
    // Of a row or column; the numbers are always in range.
    std::function<Place(llvm::Value* turn, llvm::Value* line, llvm::Value* k)> place;
  } left, right;
  std::function<llvm::Value*(llvm::Value* turn, llvm::Value* row, llvm::Value* column)> result;
};

class GpuTiles {
 public:
  // `products`: of the kernel's root, whose operands the sides are.
  GpuTiles(llvm::Module& module, const Kernel& kernel, const std::string& name, int64_t rows,
           int64_t columns);

  KernelFunction& function() { return function_; }
  // Writes the kernel, whose sizes are those that were said; how many blocks it has.
  int64_t Emit(const TiledProducts& what);

 private:
  // One of both sides, as the block has it.
  struct Tile {
    const TiledProducts::Side* side;
    hlo::InstructionId operand;
    bool is_left;
    llvm::Value* first;  // line of the tile
    int64_t size;        // lines in all
    int64_t each;        // of a thread
    std::vector<llvm::Value*> rooms = {};
    std::vector<llvm::Type*> types = {};

    int64_t lines() const { return each * kTileSide; }
    int64_t pitch() const { return lines() + 1; }
  };

  llvm::Value* Int(int64_t value) { return function_.Int(value); }
  void MakeRooms(Tile& tile);
  void Bring(const Tile& tile, llvm::Value* from);
  Products::Number Take(const Tile& tile, int64_t k, llvm::Value* line);
  void AddProducts(const Tile& left, const Tile& right, int64_t k, std::vector<llvm::Value*>& sums);
  void Write(const std::vector<llvm::Value*>& sums);

  const Kernel& kernel_;
  Products products_;
  KernelFunction function_;
  GpuBlock block_;
  Builder& b_;
  const TiledProducts* what_ = nullptr;
  int64_t rows_ = 1, columns_ = 1;  // of a thread
  llvm::Value *turn_ = nullptr, *first_row_ = nullptr, *first_column_ = nullptr;
  llvm::Value *across_ = nullptr, *down_ = nullptr;  // the thread's place in the tile
};

}  // namespace hloscope::codegen
