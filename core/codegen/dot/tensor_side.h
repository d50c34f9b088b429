// TensorSide: one side of a product of matrices on its way to the tensor cores of a GPU: a tile of
// it in memory that the threads of a block share, and fragments of that in registers.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/codegen/emit/gpu_block.h"

namespace hloscope::codegen {

// What tensor cores multiply. A unit is 16 bits of the depth.
enum class TensorType : uint8_t { kBF16, kF16, kBytes };

// How operands of these types can be multiplied: exactly but for what f32 has below 2^-133; nullopt
// where they cannot.
struct TensorForm {
  TensorType type = TensorType::kBF16;
  int64_t left_parts = 1, right_parts = 1;  // of an element: f32 is three of bf16
};

// A tile's depth, in units.
inline constexpr int64_t kTensorUnits = 32;

class TensorSide {
 public:
  // A matrix of `lines` (rows of the left side, columns of the right one) · `depth` elements;
  // strides are in elements.
  struct Matrix {
    hlo::InstructionId operand;
    hlo::ElementType element = hlo::ElementType::kBF16;
    int64_t lines = 1, depth = 1;
    int64_t line_stride = 1, depth_stride = 1;
    int64_t begins_at = 1;  // a number that all matrices of the operand begin at multiples of
    bool is_left = true;
  };
  TensorSide(KernelFunction& function, GpuBlock& block, const Matrix& matrix, TensorType type,
             int64_t parts, int64_t tile_lines, int64_t threads);

  // Where the matrix begins, and the tile's first line.
  void Begin(llvm::Value* matrix, llvm::Value* first_line);
  // The lines of the tile that a warp has fragments of, from `line` on; `lane`: of a thread.
  void BeginFragments(llvm::Value* line, llvm::Value* lane);
  // All threads bring the tile's elements from depth `from` on; beyond the depth there are zeros.
  void Bring(llvm::Value* from);
  // Four registers of a fragment of 16 lines and 16 units.
  std::array<llvm::Value*, 4> Fragment(int64_t part, int64_t line, int64_t unit);

  int64_t parts() const { return parts_; }

 private:
  // What a thread brings in a turn: elements side by side, where they are and where they go.
  struct Task {
    llvm::Value* at;     // in the matrix, of depth 0
    llvm::Value* k;      // in the tile
    llvm::Value* place;  // in the room, in units; of bytes in halves of them
  };

  llvm::Value* Int(int64_t value) { return function_.Int(value); }
  bool HasBytes() const { return type_ == TensorType::kBytes; }
  int64_t tile_depth() const { return kTensorUnits * (HasBytes() ? 2 : 1); }
  void ChooseGroups(int64_t threads);
  llvm::Value* Element(llvm::Value* at);
  std::vector<llvm::Value*> Words(llvm::Value* at);
  llvm::Value* Unit(llvm::Value* bits);
  std::vector<llvm::Value*> UnitsOf(llvm::Value* bits);
  void Put(const std::vector<llvm::Value*>& words, int64_t part, llvm::Value* place);
  void BringTransposed(const Task& task, llvm::Value* from);
  void BringGroup(const Task& task, llvm::Value* from);
  llvm::Value* AtDepth(const Task& task, llvm::Value* from, int64_t more, llvm::Value*& is_there);

  KernelFunction& function_;
  GpuBlock& block_;
  Builder& b_;
  Matrix matrix_;
  TensorType type_;
  int64_t parts_, tile_lines_, threads_;
  int64_t group_ = 1;                // elements side by side that a thread takes
  bool is_transposed_ = false;       // bytes: four of the depth of each of them
  bool is_depth_outer_ = false;      // the room has all lines of a depth side by side
  int64_t pitch_ = 1;                // units of a row of the room
  std::vector<llvm::Value*> rooms_;  // by part
  std::vector<Task> tasks_;
  llvm::Value* fragment_ = nullptr;  // of this lane, in units
};

}  // namespace hloscope::codegen
