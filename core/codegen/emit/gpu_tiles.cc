// A block makes a tile of the result. For some of the depth at a time its threads bring what the
// tile needs of both sides into memory that they share, as it lies side by side; then each sums up
// a few rows and columns in registers, in the order of the depth.
#include "core/codegen/emit/gpu_tiles.h"

#include <algorithm>

namespace hloscope::codegen {

using hlo::ElementType;
using llvm::Value;

namespace {

constexpr int64_t kTileDepth = 16;  // brought at a time
constexpr int64_t kEach = 4;        // rows and columns of a thread, at most
constexpr int64_t kTileThreads = kTileSide * kTileSide;

}  // namespace

GpuTiles::GpuTiles(llvm::Module& module, const Kernel& kernel, const std::string& name,
                   int64_t rows, int64_t columns)
    : kernel_(kernel),
      products_(kernel.module, kernel.roots[0]),
      function_(module, kernel, name, -1, kTileThreads),
      block_(function_),
      b_(function_.builder()) {
  const int64_t most = products_.parts() == 1 ? kEach : kEach / 2;
  rows_ = std::min(most, (rows - 1) / kTileSide + 1);
  columns_ = std::min(most, (columns - 1) / kTileSide + 1);
}

int64_t GpuTiles::Emit(const TiledProducts& what) {
  what_ = &what;
  if (what.depth > kTileDepth) function_.AllowRegisters(kMaxRegisters);
  const int64_t down = (what.rows - 1) / (rows_ * kTileSide) + 1;
  const int64_t along = (what.columns - 1) / (columns_ * kTileSide) + 1;
  Value* rest = function_.begin();
  const auto take = [&](int64_t size) {
    Value* number = b_.CreateURem(rest, Int(size));
    rest = b_.CreateUDiv(rest, Int(size));
    return number;
  };
  first_column_ = b_.CreateMul(take(along), Int(columns_ * kTileSide));
  first_row_ = b_.CreateMul(take(down), Int(rows_ * kTileSide));
  turn_ = rest;
  const auto operands = kernel_.module.operands(kernel_.roots[0]);
  Tile left{&what.left, operands[0], true, first_row_, what.rows, rows_};
  Tile right{&what.right, operands[1], false, first_column_, what.columns, columns_};
  across_ = b_.CreateURem(function_.thread(), Int(kTileSide));
  down_ = b_.CreateUDiv(function_.thread(), Int(kTileSide));
  MakeRooms(left);
  MakeRooms(right);
  std::vector<Value*> sums;
  for (int64_t i = 0; i < rows_ * columns_; ++i) {
    const auto zero = products_.Zero(b_, 1);
    sums.insert(sums.end(), zero.begin(), zero.end());
  }
  sums = function_.Loop(Int(0), Int(what.depth), kTileDepth, sums,
                        [&](Value* from, const std::vector<Value*>& so_far) {
                          Bring(left, from);
                          Bring(right, from);
                          block_.Barrier();
                          std::vector<Value*> next = so_far;
                          for (int64_t k = 0; k < kTileDepth; ++k)
                            AddProducts(left, right, k, next);
                          block_.Barrier();
                          return next;
                        });
  Write(sums);
  function_.Finish();
  return what.turns * down * along;
}

void GpuTiles::MakeRooms(Tile& tile) {
  for (Value* part : products_.Zero(b_, 1)) {
    tile.types.push_back(part->getType());
    tile.rooms.push_back(block_.Shared(part->getType(), kTileDepth * tile.pitch()));
  }
}

// Elements that are beside each other in memory go to neighbouring threads.
void GpuTiles::Bring(const Tile& tile, Value* from) {
  const ElementType type = kernel_.module.shape(tile.operand).element_type();
  llvm::Type* memory = MemoryType(b_, type);
  const llvm::Align align(static_cast<uint64_t>(hlo::StorageBytes(type)));
  Value* array = function_.Arrays().at(tile.operand.index).address;
  const int64_t fast = tile.side->is_depth_fast ? kTileDepth : tile.lines();
  for (int64_t i = 0; i < tile.lines() * kTileDepth; i += kTileThreads) {
    Value* number = b_.CreateAdd(function_.thread(), Int(i));
    Value* inner = b_.CreateURem(number, Int(fast));
    Value* outer = b_.CreateUDiv(number, Int(fast));
    Value* k = tile.side->is_depth_fast ? inner : outer;
    Value* line = tile.side->is_depth_fast ? outer : inner;
    // Lines beyond the last are made of it and never written; beyond the depth there are zeros.
    Value* depth = b_.CreateAdd(from, k);
    Value* is_there = b_.CreateICmpSLT(depth, Int(what_->depth));
    const auto [at, is_element] = tile.side->place(
        turn_, function_.Smaller(b_.CreateAdd(tile.first, line), Int(tile.size - 1)),
        function_.Smaller(depth, Int(what_->depth - 1)));
    if (is_element != nullptr) is_there = b_.CreateAnd(is_there, is_element);
    llvm::LoadInst* load = b_.CreateAlignedLoad(memory, b_.CreateGEP(memory, array, at), align);
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(b_.getContext(), {}));
    Value* x = FromMemory(b_, load, type);
    const auto parts = tile.is_left ? products_.Left(b_, x) : products_.Right(b_, x);
    Value* place = b_.CreateAdd(b_.CreateMul(k, Int(tile.pitch())), line);
    for (size_t part = 0; part < parts.size(); ++part) {
      Value* zero = llvm::Constant::getNullValue(tile.types[part]);
      block_.Save(b_.CreateSelect(is_there, parts[part], zero), tile.rooms[part], place);
    }
  }
}

Products::Number GpuTiles::Take(const Tile& tile, int64_t k, Value* line) {
  Products::Number number;
  Value* at = b_.CreateAdd(line, Int(k * tile.pitch()));
  for (size_t part = 0; part < tile.rooms.size(); ++part) {
    number.push_back(block_.Load(tile.types[part], tile.rooms[part], at));
  }
  return number;
}

void GpuTiles::AddProducts(const Tile& left, const Tile& right, int64_t k,
                           std::vector<Value*>& sums) {
  const auto parts = static_cast<ptrdiff_t>(products_.parts());
  std::vector<Products::Number> x, y;
  for (int64_t i = 0; i < rows_; ++i) {
    x.push_back(Take(left, k, b_.CreateAdd(down_, Int(i * kTileSide))));
  }
  for (int64_t j = 0; j < columns_; ++j) {
    y.push_back(Take(right, k, b_.CreateAdd(across_, Int(j * kTileSide))));
  }
  auto at = sums.begin();
  for (const Products::Number& row : x) {
    for (const Products::Number& column : y) {
      at = std::ranges::copy(products_.Add(b_, {at, at + parts}, row, column), at).out;
    }
  }
}

void GpuTiles::Write(const std::vector<Value*>& sums) {
  const auto parts = static_cast<ptrdiff_t>(products_.parts());
  auto at = sums.begin();
  for (int64_t i = 0; i < rows_; ++i) {
    Value* row = b_.CreateAdd(first_row_, b_.CreateAdd(down_, Int(i * kTileSide)));
    for (int64_t j = 0; j < columns_; ++j) {
      Value* column = b_.CreateAdd(first_column_, b_.CreateAdd(across_, Int(j * kTileSide)));
      const Products::Number sum(at, at + parts);
      at += parts;
      Value* is_inside = b_.CreateAnd(b_.CreateICmpSLT(row, Int(what_->rows)),
                                      b_.CreateICmpSLT(column, Int(what_->columns)));
      block_.When(is_inside, [&] {
        function_.Store(products_.Result(b_, sum),
                        kernel_.module.shape(kernel_.roots[0]).element_type(), function_.result(0),
                        what_->result(turn_, row, column), 1);
      });
    }
  }
}

}  // namespace hloscope::codegen
