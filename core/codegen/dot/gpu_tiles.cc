// A block makes a tile of the result. For some of the depth at a time its threads bring what the
// tile needs of both sides into memory that they share, as it lies side by side; then each sums up
// a few rows and columns in registers, in the order of the depth. Where tiles are few, parts of the
// depth have blocks of their own, and a second launch adds these up in their order.
#include "core/codegen/dot/gpu_tiles.h"

#include <algorithm>
#include <cmath>

#include "core/codegen/emit/emit_kernel.h"

namespace hloscope::codegen {

using hlo::ElementType;
using llvm::Value;

namespace {

constexpr int64_t kTileDepth = 16;  // brought at a time
constexpr int64_t kEach = 4;        // rows and columns of a thread, at most
constexpr int64_t kTileThreads = kTileSide * kTileSide;
// Turns that are worth a launch, and how many turns adding up a part takes the time of, about.
constexpr int64_t kMinTileTurns = 12;
constexpr double kTileTurnsOfPart = 0.1;

// Lines of a thread, which it reads at once.
int64_t EachOf(int64_t lines, int64_t most) {
  return std::min(most, PowerOfTwoFrom((lines - 1) / kTileSide + 1));
}

}  // namespace

GpuTiles::GpuTiles(llvm::Module& module, const Kernel& kernel, hlo::InstructionId contraction,
                   const std::string& name, int64_t turns, int64_t rows, int64_t columns)
    : kernel_(kernel),
      contraction_(contraction),
      products_(kernel.module, contraction),
      function_(module, kernel, name, -1, kTileThreads),
      block_(function_),
      b_(function_.builder()) {
  // Smaller tiles where there are too few for all multiprocessors.
  const int64_t least = kEach / 2;
  for (int64_t most = products_.parts() == 1 ? kEach : least; most >= least; most /= 2) {
    rows_ = EachOf(rows, most);
    columns_ = EachOf(columns, most);
    down_tiles_ = (rows - 1) / (rows_ * kTileSide) + 1;
    along_tiles_ = (columns - 1) / (columns_ * kTileSide) + 1;
    if (turns * down_tiles_ * along_tiles_ >= kMultiprocessors) break;
  }
}

void GpuTiles::ChooseParts(int64_t blocks) {
  const int64_t turns = (what_->depth - 1) / kTileDepth + 1;
  part_size_ = what_->depth;
  if (turns < kMinTileTurns) return;
  const auto wanted =
      static_cast<int64_t>(std::sqrt(static_cast<double>(turns) / kTileTurnsOfPart));
  const int64_t parts = std::min({wanted, 2 * kMultiprocessors / blocks, turns / 2});
  if (parts < 2) return;
  const int64_t of_part = (turns - 1) / parts + 1;
  part_size_ = of_part * kTileDepth;
  parts_ = (turns - 1) / of_part + 1;
}

linking::EmittedKernel GpuTiles::Emit(const std::string& name, const TiledProducts& what) {
  what_ = &what;
  if (what.depth > kTileDepth) function_.AllowRegisters(kMaxRegisters);
  const int64_t blocks = what.turns * down_tiles_ * along_tiles_;
  ChooseParts(blocks);
  linking::EmittedKernel out =
      InGrains(name, blocks * parts_, 1, 1, static_cast<size_t>(kernel_.roots.size()));
  out.block = kTileThreads;
  out.is_complete = true;
  if (parts_ == 1) {
    Sum();
  } else {
    out.passes = {0, 1};
    const int64_t elements = what.turns * what.rows * what.columns;
    int64_t bytes = 0;
    for (Value* part : products_.Zero(b_, 1)) {
      bytes += static_cast<int64_t>(part->getType()->getPrimitiveSizeInBits()) / 8;
    }
    out.code.scratch_bytes = parts_ * elements * bytes;
    block_.When(b_.CreateICmpEQ(function_.pass(), Int(0)), [&] { Sum(); });
    block_.When(b_.CreateICmpEQ(function_.pass(), Int(1)), [&] { AddParts(blocks * parts_); });
  }
  function_.Finish();
  return out;
}

void GpuTiles::Sum() {
  Value* rest = function_.begin();
  const auto take = [&](int64_t size) {
    Value* number = b_.CreateURem(rest, Int(size));
    rest = b_.CreateUDiv(rest, Int(size));
    return number;
  };
  first_column_ = b_.CreateMul(take(along_tiles_), Int(columns_ * kTileSide));
  first_row_ = b_.CreateMul(take(down_tiles_), Int(rows_ * kTileSide));
  turn_ = parts_ == 1 ? rest : take(what_->turns);
  part_ = rest;
  const auto operands = kernel_.module.operands(contraction_);
  Tile left{&what_->left, operands[0], true, first_row_, what_->rows, rows_};
  Tile right{&what_->right, operands[1], false, first_column_, what_->columns, columns_};
  across_ = b_.CreateMul(b_.CreateURem(function_.thread(), Int(kTileSide)), Int(columns_));
  down_ = b_.CreateMul(b_.CreateUDiv(function_.thread(), Int(kTileSide)), Int(rows_));
  MakeRooms(left);
  MakeRooms(right);
  if (what_->left.has_gaps && left.types[0]->isFloatingPointTy()) {
    non_finite_room_ = block_.Shared(b_.getInt32Ty(), 1);
    block_.When(b_.CreateICmpEQ(function_.thread(), Int(0)),
                [&] { block_.Save(b_.getInt32(0), non_finite_room_, Int(0)); });
    block_.Barrier();
  }
  std::vector<Value*> sums;
  for (int64_t i = 0; i < rows_ * columns_; ++i) {
    const auto zero = products_.Zero(b_, 1);
    sums.insert(sums.end(), zero.begin(), zero.end());
  }
  Value *from = Int(0), *to = Int(what_->depth);
  if (parts_ > 1) {
    from = b_.CreateMul(part_, Int(part_size_));
    to = function_.Smaller(b_.CreateAdd(from, Int(part_size_)), to);
  }
  Write(
      function_.Loop(from, to, kTileDepth, sums, [&](Value* at, const std::vector<Value*>& so_far) {
        has_non_finite_ = b_.getFalse();
        Bring(left, at);
        Bring(right, at);
        if (non_finite_room_ != nullptr) {
          block_.When(has_non_finite_, [&] {
            b_.CreateAtomicRMW(llvm::AtomicRMWInst::Or, non_finite_room_, b_.getInt32(1), {},
                               llvm::AtomicOrdering::Monotonic);
          });
        }
        block_.Barrier();
        std::vector<Value*> next = AllProducts(left, right, so_far);
        block_.Barrier();
        return next;
      }));
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
  const int64_t bytes = hlo::StorageBytes(type);
  Value* array = function_.Arrays().at(tile.operand.index).address;
  const bool is_depth_fast = tile.side->is_depth_fast;
  const int64_t fast = is_depth_fast ? kTileDepth : tile.lines();
  int64_t group = std::min(tile.side->at_once, tile.lines() * kTileDepth / kTileThreads);
  while (group * bytes > 16) group /= 2;
  for (int64_t i = 0; i < tile.lines() * kTileDepth; i += kTileThreads * group) {
    Value* number = b_.CreateAdd(function_.thread(), Int(i / group));
    Value* inner = b_.CreateMul(b_.CreateURem(number, Int(fast / group)), Int(group));
    Value* outer = b_.CreateUDiv(number, Int(fast / group));
    Value* k = is_depth_fast ? inner : outer;
    Value* line = is_depth_fast ? outer : inner;
    // Lines beyond the last are made of it and never written; beyond the depth there are zeros.
    Value* depth = b_.CreateAdd(from, k);
    Value* is_there =
        what_->depth % kTileDepth == 0 ? nullptr : b_.CreateICmpSLT(depth, Int(what_->depth));
    const auto [at, is_element] =
        tile.side->place(turn_,
                         function_.Smaller(b_.CreateAdd(tile.first, line),
                                           Int(tile.size - (is_depth_fast ? 1 : group))),
                         function_.Smaller(depth, Int(what_->depth - (is_depth_fast ? group : 1))));
    if (is_element != nullptr) {
      is_there = is_there == nullptr ? is_element : b_.CreateAnd(is_there, is_element);
    }
    llvm::Type* all =
        group == 1 ? memory : llvm::FixedVectorType::get(memory, static_cast<unsigned>(group));
    llvm::LoadInst* load = b_.CreateAlignedLoad(all, b_.CreateGEP(memory, array, at),
                                                llvm::Align(static_cast<uint64_t>(group * bytes)));
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(b_.getContext(), {}));
    for (int64_t e = 0; e < group; ++e) {
      Value* x = group == 1 ? static_cast<Value*>(load)
                            : b_.CreateExtractElement(load, static_cast<uint64_t>(e));
      Value* k_here = is_depth_fast ? b_.CreateAdd(k, Int(e)) : k;
      Value* line_here = is_depth_fast ? line : b_.CreateAdd(line, Int(e));
      Save(tile, FromMemory(b_, x, type), is_there,
           b_.CreateAdd(b_.CreateMul(k_here, Int(tile.pitch())), line_here));
    }
  }
}

// What is not there is a zero, which adds nothing but where it meets an infinity or a NaN. So that
// it can be left out there it is -0, and a number that is -0 becomes 0.
void GpuTiles::Save(const Tile& tile, Value* x, Value* is_there, Value* place) {
  auto parts = tile.is_left ? products_.Left(b_, x) : products_.Right(b_, x);
  const bool has_gaps = tile.is_left && non_finite_room_ != nullptr;
  for (size_t part = 0; part < parts.size(); ++part) {
    llvm::Type* type = tile.types[part];
    Value* none = llvm::Constant::getNullValue(type);
    if (has_gaps) {
      parts[part] = b_.CreateFAdd(parts[part], none);
      none = llvm::ConstantFP::getNegativeZero(type);
    }
    block_.Save(is_there == nullptr ? parts[part] : b_.CreateSelect(is_there, parts[part], none),
                tile.rooms[part], place);
  }
  if (!tile.is_left && non_finite_room_ != nullptr) Note(parts);
}

void GpuTiles::Note(const Products::Number& number) {
  for (Value* part : number) {
    Value* size = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, part);
    Value* is_odd = b_.CreateFCmpUEQ(size, llvm::ConstantFP::getInfinity(part->getType()));
    has_non_finite_ = b_.CreateOr(has_non_finite_, is_odd);
  }
}

// A thread's lines, which lie side by side.
std::vector<Products::Number> GpuTiles::Take(const Tile& tile, Value* k, Value* line) {
  std::vector<Products::Number> numbers(static_cast<size_t>(tile.each));
  Value* at = b_.CreateAdd(line, b_.CreateMul(k, Int(tile.pitch())));
  for (size_t part = 0; part < tile.rooms.size(); ++part) {
    llvm::Type* type = tile.types[part];
    Value* address = b_.CreateGEP(type, tile.rooms[part], at);
    const auto bytes = static_cast<uint64_t>(type->getPrimitiveSizeInBits()) / 8;
    const llvm::Align align(std::min<uint64_t>(16, bytes * static_cast<uint64_t>(tile.each)));
    if (tile.each == 1) {
      numbers[0].push_back(b_.CreateAlignedLoad(type, address, align));
      continue;
    }
    Value* all = b_.CreateAlignedLoad(
        llvm::FixedVectorType::get(type, static_cast<unsigned>(tile.each)), address, align);
    for (size_t i = 0; i < numbers.size(); ++i) {
      numbers[i].push_back(b_.CreateExtractElement(all, i));
    }
  }
  return numbers;
}

void GpuTiles::AddProducts(const Tile& left, const Tile& right, Value* k, std::vector<Value*>& sums,
                           bool leave_out_gaps) {
  const auto parts = static_cast<ptrdiff_t>(products_.parts());
  const std::vector<Products::Number> x = Take(left, k, down_), y = Take(right, k, across_);
  auto at = sums.begin();
  for (const Products::Number& row : x) {
    Value* is_gap = nullptr;
    if (leave_out_gaps) {
      auto* const bits =
          b_.getIntNTy(static_cast<unsigned>(row[0]->getType()->getPrimitiveSizeInBits()));
      Value* gap = llvm::ConstantFP::getNegativeZero(row[0]->getType());
      is_gap = b_.CreateICmpEQ(b_.CreateBitCast(row[0], bits), b_.CreateBitCast(gap, bits));
    }
    for (const Products::Number& column : y) {
      const Products::Number before(at, at + parts);
      Products::Number sum = products_.Add(b_, before, row, column);
      for (size_t part = 0; is_gap != nullptr && part < sum.size(); ++part) {
        sum[part] = b_.CreateSelect(is_gap, before[part], sum[part]);
      }
      at = std::ranges::copy(sum, at).out;
    }
  }
}

// Of a tile's depth. Once a number was not finite, gaps are looked for.
std::vector<Value*> GpuTiles::AllProducts(const Tile& left, const Tile& right,
                                          std::vector<Value*> sums) {
  const auto all = [&](std::vector<Value*> so_far) {
    for (int64_t k = 0; k < kTileDepth; ++k) AddProducts(left, right, Int(k), so_far, false);
    return so_far;
  };
  if (non_finite_room_ == nullptr) return all(std::move(sums));
  Value* is_odd =
      b_.CreateICmpNE(block_.Load(b_.getInt32Ty(), non_finite_room_, Int(0)), b_.getInt32(0));
  sums = function_.Loop(Int(0), b_.CreateSelect(is_odd, Int(0), Int(1)), 1, std::move(sums),
                        [&](Value*, std::vector<Value*> so_far) { return all(std::move(so_far)); });
  return function_.Loop(Int(0), b_.CreateSelect(is_odd, Int(kTileDepth), Int(0)), 1,
                        std::move(sums), [&](Value* k, std::vector<Value*> so_far) {
                          AddProducts(left, right, k, so_far, true);
                          return so_far;
                        });
}

void GpuTiles::Write(const std::vector<Value*>& sums) {
  const auto parts = static_cast<ptrdiff_t>(products_.parts());
  const bool all_rows = what_->rows % (rows_ * kTileSide) == 0;
  const bool all_columns = what_->columns % (columns_ * kTileSide) == 0;
  for (int64_t i = 0; i < rows_; ++i) {
    Value* row = b_.CreateAdd(first_row_, b_.CreateAdd(down_, Int(i)));
    for (int64_t j = 0; j < columns_; ++j) {
      Value* column = b_.CreateAdd(first_column_, b_.CreateAdd(across_, Int(j)));
      const auto at = sums.begin() + (i * columns_ + j) * parts;
      const Products::Number sum(at, at + parts);
      const auto write = [&] {
        const DotResults::Place place = {what_->result(turn_, row, column), row, column};
        if (parts_ == 1) return WriteOne(sum, place);
        for (size_t part = 0; part < sum.size(); ++part) {
          b_.CreateStore(sum[part], PartAt(part_, part, place.number));
        }
      };
      if (all_rows && all_columns) {
        write();
        continue;
      }
      block_.When(b_.CreateAnd(b_.CreateICmpSLT(row, Int(what_->rows)),
                               b_.CreateICmpSLT(column, Int(what_->columns))),
                  write);
    }
  }
}

void GpuTiles::WriteOne(const Products::Number& sum, const DotResults::Place& place) {
  if (what_->write != nullptr) return what_->write(sum, place);
  function_.Store(products_.Result(b_, sum), kernel_.module.shape(contraction_).element_type(),
                  function_.result(0), place.number, 1);
}

// Where a part's sum is, of a complex number its real or imaginary half.
Value* GpuTiles::PartAt(Value* part, size_t number, Value* place) {
  const int64_t elements = what_->turns * what_->rows * what_->columns;
  const auto parts = static_cast<int64_t>(products_.parts());
  Value* begin =
      b_.CreateMul(b_.CreateAdd(b_.CreateMul(part, Int(parts)), Int(static_cast<int64_t>(number))),
                   Int(elements));
  return b_.CreateGEP(products_.Zero(b_, 1)[0]->getType(), function_.scratch(),
                      b_.CreateAdd(begin, place));
}

void GpuTiles::AddParts(int64_t blocks) {
  const int64_t elements = what_->turns * what_->rows * what_->columns;
  Value* first =
      b_.CreateAdd(b_.CreateMul(function_.begin(), Int(kTileThreads)), function_.thread());
  function_.Loop(first, Int(elements), blocks * kTileThreads, [&](Value* element) {
    Products::Number sum;
    for (int64_t part = 0; part < parts_; ++part) {
      Products::Number next;
      for (Value* zero : products_.Zero(b_, 1)) {
        next.push_back(b_.CreateLoad(zero->getType(), PartAt(Int(part), next.size(), element)));
      }
      sum = sum.empty() ? next : products_.Add(b_, sum, next);
    }
    WriteOne(sum, {element});
  });
}

}  // namespace hloscope::codegen
