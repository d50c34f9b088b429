#include "core/codegen/narrow_integers.h"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/Analysis/LazyValueInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/IR/ConstantRange.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/MDBuilder.h>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace hloscope::codegen {
namespace {

using llvm::APInt;
using llvm::ConstantInt;
using llvm::ConstantRange;
using llvm::Instruction;
using llvm::Value;

constexpr unsigned kWide = 64, kNarrow = 32;

// Whether all of them are numbers of 32 bits with a sign.
bool Fits(const ConstantRange& range) {
  return !range.isEmptySet() && range.getSignedMin().isSignedIntN(kNarrow) &&
         range.getSignedMax().isSignedIntN(kNarrow);
}

bool IsNotNegative(const ConstantRange& range) { return !range.getSignedMin().isNegative(); }

// What is known of the integers of a function, which must stay as it is meanwhile.
class Ranges {
 public:
  Ranges(llvm::LazyValueInfo& values, llvm::ScalarEvolution& loops)
      : values_(values), loops_(loops) {}

  // Where an instruction uses one.
  ConstantRange At(const llvm::Use& use) {
    Value* value = use.get();
    if (const auto* number = llvm::dyn_cast<ConstantInt>(value)) return number->getValue();
    const auto known = known_.find(value);
    const ConstantRange here = values_.getConstantRangeAtUse(use, false);
    return known == known_.end() ? here : here.intersectWith(known->second);
  }

  const ConstantRange& Of(const Instruction* value) const { return known_.at(value); }

  // To be called of what an instruction uses first, but for what comes round a loop.
  void Note(Instruction& i) {
    ConstantRange range = values_.getConstantRange(&i, &i, false);
    if (loops_.isSCEVable(i.getType())) {
      const llvm::SCEV* const form = loops_.getSCEV(&i);
      range = range.intersectWith(loops_.getUnsignedRange(form))
                  .intersectWith(loops_.getSignedRange(form));
    }
    if (const auto* binary = llvm::dyn_cast<llvm::BinaryOperator>(&i)) {
      range = range.intersectWith(
          At(i.getOperandUse(0)).binaryOp(binary->getOpcode(), At(i.getOperandUse(1))));
    } else if (const auto* extremum = llvm::dyn_cast<llvm::MinMaxIntrinsic>(&i)) {
      range = range.intersectWith(ConstantRange::intrinsic(
          extremum->getIntrinsicID(), {At(i.getOperandUse(0)), At(i.getOperandUse(1))}));
    }
    known_.insert_or_assign(&i, range);
  }

 private:
  llvm::LazyValueInfo& values_;
  llvm::ScalarEvolution& loops_;
  std::unordered_map<const Value*, ConstantRange> known_;
};

// How a number is computed in 32 bits, where it fits.
enum class Needs : uint8_t {
  kNever,
  kLowBits,   // its low bits come of the low bits of what it is made of
  kFit,       // what it is made of fits
  kPositive,  // and is not negative
};

bool IsShort(const Value* shift) {
  const auto* by = llvm::dyn_cast<ConstantInt>(shift);
  return by != nullptr && by->getValue().ult(kNarrow);
}

Needs NeedsOf(const Instruction& i) {
  switch (i.getOpcode()) {
    case Instruction::Add:
    case Instruction::Sub:
    case Instruction::Mul:
    case Instruction::And:
    case Instruction::Or:
    case Instruction::Xor:
    case Instruction::Select:
    case Instruction::PHI:
      return Needs::kLowBits;
    case Instruction::Shl:
      return IsShort(i.getOperand(1)) ? Needs::kLowBits : Needs::kNever;
    case Instruction::LShr:
      return IsShort(i.getOperand(1)) ? Needs::kPositive : Needs::kNever;
    case Instruction::AShr:
      return IsShort(i.getOperand(1)) ? Needs::kFit : Needs::kNever;
    case Instruction::UDiv:
    case Instruction::URem:
      return Needs::kPositive;
    case Instruction::SDiv:
      return Needs::kFit;
    case Instruction::SRem: {  // the least number by -1 has the remainder 0 in wide ones alone
      const auto* by = llvm::dyn_cast<ConstantInt>(i.getOperand(1));
      return by != nullptr && !by->isMinusOne() ? Needs::kFit : Needs::kNever;
    }
    default:
      return llvm::isa<llvm::MinMaxIntrinsic>(i) ? Needs::kFit : Needs::kNever;
  }
}

// A product that only addresses take: it is one instruction that widens as well.
bool IsStep(const Instruction& i) {
  const bool is_product = i.getOpcode() == Instruction::Shl || i.getOpcode() == Instruction::Mul;
  return is_product && llvm::isa<ConstantInt>(i.getOperand(1)) &&
         llvm::all_of(i.users(), llvm::IsaPred<llvm::GetElementPtrInst>);
}

class Narrowing {
 public:
  Narrowing(llvm::Function& function, Ranges ranges)
      : function_(function), ranges_(std::move(ranges)), b_(function.getContext()) {}

  bool Run() {
    Choose();
    for (const Chosen& each : chosen_) narrow_[each.wide] = Make(each);
    for (const Chosen& each : chosen_) {
      auto* const phi = llvm::dyn_cast<llvm::PHINode>(each.wide);
      if (phi == nullptr) continue;
      auto* const made = llvm::cast<llvm::PHINode>(narrow_.at(phi));
      for (unsigned k = 0; k < phi->getNumIncomingValues(); ++k) {
        made->addIncoming(Narrow(phi->getIncomingValue(k)), phi->getIncomingBlock(k));
      }
    }
    for (llvm::ICmpInst* each : compares_) {
      Value *x = Narrow(each->getOperand(0)), *y = Narrow(each->getOperand(1));
      b_.SetInsertPoint(each);
      each->replaceAllUsesWith(b_.CreateICmp(each->getPredicate(), x, y));
      each->eraseFromParent();
    }
    for (const Chosen& each : chosen_) GiveOthers(each);
    for (const Chosen& each : chosen_) {
      each.wide->replaceAllUsesWith(llvm::PoisonValue::get(each.wide->getType()));
      each.wide->eraseFromParent();
    }
    return !chosen_.empty() || !compares_.empty() || has_folded_;
  }

 private:
  struct Chosen {
    Instruction* wide;
    bool is_positive, has_no_overflow, has_positive;  // and that of its operands
  };

  // What an instruction takes: all operands but the condition of a select.
  static llvm::iterator_range<llvm::Use*> Taken(Instruction& i) {
    const unsigned first = llvm::isa<llvm::SelectInst>(i) ? 1 : 0;
    const unsigned behind = llvm::isa<llvm::MinMaxIntrinsic>(i) ? 2 : i.getNumOperands();
    return {i.op_begin() + first, i.op_begin() + behind};
  }

  // Whether it is there in 32 bits without more instructions.
  bool IsAtHand(const Value* value) const {
    if (llvm::isa<ConstantInt>(value)) return true;
    if (llvm::isa<llvm::ZExtInst, llvm::SExtInst>(value)) {
      return llvm::cast<Instruction>(value)->getOperand(0)->getType()->isIntegerTy(kNarrow);
    }
    return is_chosen_.contains(value);
  }

  void Choose() {
    std::vector<std::pair<llvm::ICmpInst*, bool>> decided;
    for (llvm::BasicBlock* block : llvm::ReversePostOrderTraversal(&function_)) {
      for (Instruction& i : *block) {
        if (auto* compare = llvm::dyn_cast<llvm::ICmpInst>(&i)) {
          if (!compare->getOperand(0)->getType()->isIntegerTy(kWide)) continue;
          const ConstantRange x = ranges_.At(i.getOperandUse(0)),
                              y = ranges_.At(i.getOperandUse(1));
          if (x.icmp(compare->getPredicate(), y)) {
            decided.emplace_back(compare, true);
          } else if (x.icmp(compare->getInversePredicate(), y)) {
            decided.emplace_back(compare, false);
          } else if (Fits(x) && Fits(y)) {
            compares_.push_back(compare);
          }
          continue;
        }
        if (!i.getType()->isIntegerTy(kWide)) continue;
        ranges_.Note(i);
        const Needs needs = NeedsOf(i);
        const ConstantRange& range = ranges_.Of(&i);
        if (needs == Needs::kNever || !Fits(range) || IsStep(i)) continue;
        bool fit = true, positive = true;
        if (needs != Needs::kLowBits || llvm::isa<llvm::BinaryOperator>(i)) {
          for (const llvm::Use& each : Taken(i)) {
            const ConstantRange one = ranges_.At(each);
            fit = fit && Fits(one);
            positive = positive && fit && IsNotNegative(one);
          }
        }
        if (needs == Needs::kFit && !fit) continue;
        if (needs == Needs::kPositive && !positive) continue;
        is_chosen_.insert(&i);
        chosen_.push_back({&i, IsNotNegative(range), fit, fit && positive && IsNotNegative(range)});
      }
    }
    for (const auto& [compare, outcome] : decided) {
      compare->replaceAllUsesWith(ConstantInt::getBool(compare->getType(), outcome));
      compare->eraseFromParent();
      has_folded_ = true;
    }
    std::erase_if(compares_, [&](llvm::ICmpInst* each) {
      return !IsAtHand(each->getOperand(0)) || !IsAtHand(each->getOperand(1));
    });
  }

  // The low 32 bits of a number.
  Value* Narrow(Value* value) {
    llvm::Type* const type = b_.getInt32Ty();
    if (const auto* number = llvm::dyn_cast<ConstantInt>(value)) {
      return ConstantInt::get(type, number->getValue().trunc(kNarrow));
    }
    if (llvm::isa<llvm::UndefValue>(value)) return llvm::UndefValue::get(type);
    if (llvm::isa<llvm::ZExtInst, llvm::SExtInst>(value)) {
      Value* source = llvm::cast<Instruction>(value)->getOperand(0);
      if (source->getType()->isIntegerTy(kNarrow)) return source;
    }
    Value*& kept = narrow_[value];
    if (kept != nullptr) return kept;
    auto* const instruction = llvm::dyn_cast<Instruction>(value);
    if (instruction == nullptr) {
      b_.SetInsertPoint(&function_.getEntryBlock(),
                        function_.getEntryBlock().getFirstInsertionPt());
    } else {
      b_.SetInsertPoint(*instruction->getInsertionPointAfterDef());
    }
    return kept = b_.CreateTrunc(value, type);
  }

  Value* Make(const Chosen& chosen) {
    Instruction& i = *chosen.wide;
    if (llvm::isa<llvm::PHINode>(i)) {
      b_.SetInsertPoint(&i);
      return b_.CreatePHI(b_.getInt32Ty(), i.getNumOperands());
    }
    std::vector<Value*> taken;
    for (const llvm::Use& each : Taken(i)) taken.push_back(Narrow(each.get()));
    b_.SetInsertPoint(&i);
    if (auto* select = llvm::dyn_cast<llvm::SelectInst>(&i)) {
      return b_.CreateSelect(select->getCondition(), taken[0], taken[1]);
    }
    if (auto* extremum = llvm::dyn_cast<llvm::MinMaxIntrinsic>(&i)) {
      return b_.CreateBinaryIntrinsic(extremum->getIntrinsicID(), taken[0], taken[1]);
    }
    auto opcode = llvm::cast<llvm::BinaryOperator>(i).getOpcode();
    // A sum is a sum however it was written: places that lie side by side look alike then.
    const auto* const either = llvm::dyn_cast<llvm::PossiblyDisjointInst>(&i);
    const bool is_disjoint = either != nullptr && either->isDisjoint();
    if (is_disjoint) opcode = Instruction::Add;
    // Not by the builder, which would fold it.
    auto* const made = llvm::BinaryOperator::Create(opcode, taken[0], taken[1]);
    b_.Insert(made);
    if (llvm::isa<llvm::OverflowingBinaryOperator>(made)) {
      made->setHasNoSignedWrap(is_disjoint || chosen.has_no_overflow);
      made->setHasNoUnsignedWrap(is_disjoint || chosen.has_positive);
    }
    return made;
  }

  // What goes on in 64 bits, in the block where it is wanted: an address takes it in one
  // instruction there.
  void GiveOthers(const Chosen& chosen) {
    Value* const narrow = narrow_.at(chosen.wide);
    for (llvm::Use& use : llvm::make_early_inc_range(chosen.wide->uses())) {
      auto* const user = llvm::cast<Instruction>(use.getUser());
      if (is_chosen_.contains(user)) continue;
      b_.SetInsertPoint(user);
      const bool is_float = llvm::isa<llvm::SIToFPInst>(user) ||
                            (llvm::isa<llvm::UIToFPInst>(user) && chosen.is_positive);
      if (is_float || llvm::isa<llvm::TruncInst>(user)) {
        user->replaceAllUsesWith(is_float ? b_.CreateSIToFP(narrow, user->getType())
                                          : b_.CreateTrunc(narrow, user->getType()));
        user->eraseFromParent();
        continue;
      }
      auto* const phi = llvm::dyn_cast<llvm::PHINode>(user);
      if (phi != nullptr) b_.SetInsertPoint(phi->getIncomingBlock(use)->getTerminator());
      use.set(chosen.is_positive ? b_.CreateZExt(narrow, use->getType(), "", true)
                                 : b_.CreateSExt(narrow, use->getType()));
    }
  }

  llvm::Function& function_;
  Ranges ranges_;
  llvm::IRBuilder<> b_;
  std::vector<Chosen> chosen_;
  std::vector<llvm::ICmpInst*> compares_;
  std::unordered_set<const Value*> is_chosen_;
  std::unordered_map<const Value*, Value*> narrow_;  // the low bits of numbers
  bool has_folded_ = false;
};

constexpr const char *kBlocks = "hloscope-blocks", *kThreads = "hloscope-threads";

// Numbers of blocks and threads are below what was said of the launch.
void LimitNumbers(llvm::Function& function) {
  const auto limit = [&](llvm::CallBase& call, const char* name) {
    const uint64_t end = function.getFnAttributeAsParsedInteger(name);
    if (end == 0 || end > INT32_MAX) return;  // a plan with more is refused
    call.setMetadata(
        llvm::LLVMContext::MD_range,
        llvm::MDBuilder(call.getContext()).createRange(APInt(kNarrow, 0), APInt(kNarrow, end)));
  };
  for (Instruction& each : llvm::instructions(function)) {
    auto* const call = llvm::dyn_cast<llvm::IntrinsicInst>(&each);
    if (call == nullptr) continue;
    if (call->getIntrinsicID() == llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x) {
      limit(*call, kBlocks);
    } else if (call->getIntrinsicID() == llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x) {
      limit(*call, kThreads);
    }
  }
}

}  // namespace

void SayOfLaunch(llvm::Function& kernel, int64_t blocks, int64_t threads) {
  kernel.addFnAttr(kBlocks, std::to_string(blocks));
  kernel.addFnAttr(kThreads, std::to_string(threads));
}

llvm::PreservedAnalyses NarrowIntegersPass::run(llvm::Function& function,
                                                llvm::FunctionAnalysisManager& analyses) {
  LimitNumbers(function);
  Ranges ranges(analyses.getResult<llvm::LazyValueAnalysis>(function),
                analyses.getResult<llvm::ScalarEvolutionAnalysis>(function));
  return Narrowing(function, std::move(ranges)).Run() ? llvm::PreservedAnalyses::none()
                                                      : llvm::PreservedAnalyses::all();
}

}  // namespace hloscope::codegen
