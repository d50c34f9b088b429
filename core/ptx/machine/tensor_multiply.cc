// tcgen05.mma: D = A·B + D, D in tensor memory, done when it is issued.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "core/ptx/machine/access.h"
#include "core/ptx/machine/instruction_descriptor.h"
#include "core/ptx/machine/matrix_form.h"
#include "core/ptx/machine/observer.h"
#include "core/ptx/machine/shared_tile.h"
#include "core/ptx/machine/steps.h"
#include "core/ptx/machine/tensor_memory.h"
#include "core/ptx/machine/tile_products.h"
#include "core/ptx/tensor/narrow.h"
#include "core/ptx/tensor/steps.h"

namespace hloscope::ptx {
namespace {

constexpr uint32_t kRowBytes = 32, kRowColumns = kRowBytes / 4;

// Rows of D and of A in tensor memory: row i in lane i, or, of 64 rows, sixteen in each quarter.
uint32_t LaneOf(int rows, uint32_t row) { return rows == 64 ? row / 16 * 32 + row % 16 : row; }

class Multiplication {
 public:
  Multiplication(Warp& w, uint32_t lane, const TensorProduct& p, TileProduct product)
      : w_(w), lane_(lane), p_(p), product_(product) {
    const auto m = static_cast<size_t>(p.form.m), n = static_cast<size_t>(p.form.n);
    row_bytes_ = HoldsPairs(p.form) ? 2 * kRowBytes : kRowBytes;
    auto& buffer = w.block->scratch;
    buffer.resize((m + n) * row_bytes_ + m * n * 4);
    a_ = buffer.data();
    b_ = a_ + m * row_bytes_;
    d_ = b_ + n * row_bytes_;
  }

  bool ReadShared(uint64_t descriptor, bool is_b) {
    const char* refused = nullptr;
    auto tile = Tcgen05Tile(descriptor, refused);
    if (!tile.has_value()) return Fail(refused);
    const auto rows = static_cast<uint32_t>(is_b ? p_.form.n : p_.form.m);
    if (!HoldsPairs(p_.form))
      tile->packed_bits = static_cast<uint32_t>(std::min(RowOf(ElementOf(is_b)).bits, 8));
    if (!ReadTile(w_, lane_, *tile, is_b ? p_.b_transposed : p_.a_transposed, rows,
                  static_cast<uint32_t>(BytesOf(p_.form.a)), is_b, is_b ? b_ : a_)) {
      return false;
    }
    if (HoldsPairs(p_.form)) SplitPairs(is_b ? b_ : a_, is_b ? rows : 1, is_b ? 1 : rows);
    return true;
  }

  // Elements of a row of A lie packed in eight columns, those of four and six bits in a byte each:
  // of four bits in bits 2 to 5.
  bool ReadA(uint32_t address) {
    if (!Check(address, kRowColumns)) return false;
    Tell(TensorUse::kFactor, address, kRowColumns);
    ForRows(address, [&](uint32_t row, const uint32_t* cells) {
      std::memcpy(a_ + row * kRowBytes, cells, kRowBytes);
    });
    if (HoldsPairs(p_.form)) {
      SplitPairs(a_, 1, static_cast<uint32_t>(p_.form.m));
    } else {
      TakeFromBytes(p_.form.a, {a_, static_cast<size_t>(p_.form.m) * kRowBytes});
    }
    return true;
  }

  // The factors of rows of A, or of columns of B: that of row r is in lane r % 32 of column r / 32
  // of every quarter.
  bool ReadScales(uint32_t address, bool is_b) {
    const auto rows = static_cast<uint32_t>(is_b ? p_.form.n : p_.form.m);
    const auto factors = static_cast<uint32_t>(p_.form.k / p_.block);
    const uint32_t first = is_b ? p_.b_scale_byte : p_.a_scale_byte, column = address & 0xffff;
    TensorMemory* const memory = w_.block->tensor_memory.get();
    // CUTLASS keeps the byte of the descriptor in the highest two bits too.
    if ((address >> 16 & 0x3fff) != 0)
      return Fail("scale factors in tensor memory that start at another lane than 0");
    if (memory == nullptr || !memory->Holds(column, (rows + 31) / 32))
      return Fail("columns of tensor memory that were not allocated");
    std::vector<uint8_t>& scales = is_b ? b_scales_ : a_scales_;
    for (uint32_t row = 0; row < rows; ++row) {
      const uint32_t at = column + row / 32;
      const uint32_t cell = memory->At(row % 32, at);
      const uint32_t used = (factors == 4 ? ~0u : (1u << 8 * factors) - 1) << 8 * first;
      for (uint32_t quarter = 0; quarter < 4; ++quarter) {
        const uint32_t lane = quarter * 32 + row % 32;
        TellOne(is_b ? TensorUse::kFactorOfB : TensorUse::kFactor, row, lane, at, 1);
        if (((memory->At(lane, at) ^ cell) & used) != 0)
          return Fail("scale factors that are not the same in all quarters of tensor memory");
      }
      for (uint32_t i = 0; i < factors; ++i)
        scales.push_back(static_cast<uint8_t>(cell >> 8 * (first + i)));
    }
    return true;
  }

  // Sums of 16 bits have a column each.
  bool Compute(uint32_t address, bool adds) {
    const auto n = static_cast<uint32_t>(p_.form.n);
    const auto width = static_cast<uint32_t>(BytesOf(p_.form.d));
    if (!Check(address, n)) return false;
    Tell(adds ? TensorUse::kSumsAdded : TensorUse::kSums, address, n);
    if (p_.a_negative) NegateElements(p_.form.a, a_, static_cast<size_t>(p_.form.m) * row_bytes_);
    if (p_.b_negative) NegateElements(p_.form.b, b_, n * row_bytes_);
    if (adds) {
      ForRows(address, [&](uint32_t row, const uint32_t* cells) {
        for (uint32_t i = 0; i < n; ++i) std::memcpy(d_ + (row * n + i) * width, cells + i, width);
      });
    }
    CountProduct(p_.form, w_.block->counts);
    const BlockScales scales{p_.block, p_.is_ue4m3, a_scales_.data(), b_scales_.data()};
    TileForm form = p_.form;
    if (p_.block != 0) form.scales = &scales;
    product_(form, a_, b_, adds ? d_ : nullptr, d_);
    ForRows(address, [&](uint32_t row, uint32_t* cells) {
      for (uint32_t i = 0; i < n; ++i) {
        cells[i] = 0;
        std::memcpy(cells + i, d_ + (row * n + i) * width, width);
      }
    });
    return true;
  }

 private:
  bool Fail(const char* what) {
    w_.block->Fail(what, w_.first_thread + lane_);
    return false;
  }

  bool Check(uint32_t address, uint32_t columns) {
    TensorMemory* memory = w_.block->tensor_memory.get();
    const uint32_t lane = address >> 16;
    const bool fits = lane == 0 || (p_.form.m == 64 && lane == 16);
    if (fits && memory != nullptr && memory->Holds(address & 0xffff, columns)) return true;
    return Fail(fits ? "columns of tensor memory that were not allocated"
                     : "a matrix in tensor memory that starts at another lane than 0, or 16 of 64 "
                       "rows");
  }

  Element ElementOf(bool is_b) const { return is_b ? p_.form.b : p_.form.a; }

  // 32 bytes along k, `step` apart, of each of `rows` that lie 32 bytes apart where `step` is 1, to
  // twice as many elements, from the last on.
  void SplitPairs(std::byte* bytes, uint32_t step, uint32_t rows) {
    const uint32_t count = kRowBytes * std::max(step, rows);
    for (uint32_t i = count; i-- > 0;) {
      // Of B byte (k, n) makes (2k, n) and (2k + 1, n).
      const uint32_t low = step == 1 ? 2 * i : i / step * 2 * step + i % step;
      const std::byte pair = bytes[i];
      bytes[low + step] = pair >> 4;
      bytes[low] = pair & std::byte{15};
    }
  }

  void TellOne(TensorUse kind, uint32_t row, uint32_t lane, uint32_t column,
               uint32_t columns) const {
    if (Observer* const observer = w_.block->observer)
      observer->TensorCells(w_, {kind, row, 0, TensorMemory::CellAt(lane, column), columns});
  }

  void Tell(TensorUse kind, uint32_t address, uint32_t columns) const {
    for (uint32_t row = 0; row < static_cast<uint32_t>(p_.form.m); ++row) {
      TellOne(kind, row, (address >> 16) + LaneOf(p_.form.m, row), address & 0xffff, columns);
    }
  }

  template <typename F>
  void ForRows(uint32_t address, F f) {
    for (uint32_t row = 0; row < static_cast<uint32_t>(p_.form.m); ++row) {
      f(row,
        &w_.block->tensor_memory->At((address >> 16) + LaneOf(p_.form.m, row), address & 0xffff));
    }
  }

  Warp& w_;
  uint32_t lane_;
  const TensorProduct& p_;
  TileProduct product_;
  size_t row_bytes_;
  std::byte *a_, *b_, *d_;
  std::vector<uint8_t> a_scales_, b_scales_;
};

void MultiplyLanes(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  MultiplyTensorMemory(w, in, s, m, MultiplyTile);
}

}  // namespace

void MultiplyTensorMemory(Warp& w, const Instruction& in, const Slot* s, uint32_t m,
                          TileProduct product_of_tiles) {
  const bool a_in_memory = in.operation == Operation::kTensorMultiplyFromMemory ||
                           in.operation == Operation::kTensorMultiplyScaledFromMemory;
  // Addresses: of d, of a where it has one, of the factors.
  const uint32_t factors = a_in_memory ? 2 : 1;
  const Slot& adds = s[in.slot_count - 1];
  for (uint32_t l = 0; l < kLanes; ++l) {
    if ((m >> l & 1) == 0) continue;
    const char* refused = nullptr;
    const auto product =
        TensorProductOf(in, static_cast<uint32_t>(ReadLane(w, s[3], l)), w.block->target, refused);
    if (!product.has_value()) return w.block->Fail(refused, w.first_thread + l);
    if (const Status status = CheckTile(product->form); !status)
      return w.block->Fail(status.error().message, w.first_thread + l);
    if (a_in_memory && product->a_transposed) {
      return w.block->Fail("a matrix a in tensor memory is not transposed", w.first_thread + l);
    }
    Multiplication multiplication(w, l, *product, product_of_tiles);
    const auto address = [&](uint32_t operand, uint32_t which) {
      return static_cast<uint32_t>(AddressOf(w, in, s[operand], l, which));
    };
    const bool has_a = a_in_memory ? multiplication.ReadA(address(1, 1))
                                   : multiplication.ReadShared(ReadLane(w, s[1], l), false);
    if (!has_a || !multiplication.ReadShared(ReadLane(w, s[2], l), true)) return;
    if (product->block != 0 && (!multiplication.ReadScales(address(4, factors), false) ||
                                !multiplication.ReadScales(address(5, factors + 1), true))) {
      return;
    }
    if (!multiplication.Compute(address(0, 0), (ReadMask(w, adds) >> l & 1) != 0)) return;
  }
}

void CountProduct(const TileForm& form, RunCounts& counts) {
  const auto products =
      static_cast<uint64_t>(form.m) * static_cast<uint64_t>(form.n) * static_cast<uint64_t>(form.k);
  const int bytes = BytesOf(form.a);
  (bytes == 4         ? counts.products_tf32
   : bytes == 2       ? counts.products_16bit
   : HoldsPairs(form) ? counts.products_4bit
                      : counts.products_8bit) += products;
}

void NegateElements(Element element, std::byte* bytes, size_t size) {
  const auto width = static_cast<size_t>(BytesOf(element));
  const auto sign = static_cast<std::byte>(1u << ((RowOf(element).bits - 1) % 8));
  for (size_t i = width - 1; i < size; i += width) bytes[i] ^= sign;
}

Status CheckProduct(const Instruction& in, uint32_t target) {
  if (in.operation == Operation::kWmmaMultiply) return CheckMma(WmmaFormOf(in, target));
  if (IsTensorMultiply(in)) return CheckTile(UsualTensorForm(in, target));
  if (in.operation == Operation::kMmaNarrow) return CheckNarrowMma(target);
  return in.group_wide ? CheckTile(WgmmaFormOf(in, target)) : CheckMma(MmaFormOf(in, target));
}

Step TensorMultiplyStep(const Instruction& i) {
  return IsTensorMultiply(i) ? MultiplyLanes : nullptr;
}

}  // namespace hloscope::ptx
