// Integers that become narrower: random functions give the same numbers before and after, and what
// is said of overflow holds; indices of kernels are of 32 bits where their arrays are small enough.
#include "core/codegen/narrow_integers.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <llvm/Analysis/ConstantFolding.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <map>
#include <random>

#include "core/codegen/gpu_code.h"
#include "tests/hlo/parsed.h"

namespace hloscope::codegen {
namespace {

using llvm::APInt;
using llvm::Value;

void Narrow(llvm::Function& function) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  NarrowIntegersPass().run(function, functions);
}

int WideOperations(const llvm::Function& function) {
  int wide = 0;
  for (const llvm::Instruction& i : llvm::instructions(function)) {
    wide += i.getType()->isIntegerTy(64) && llvm::isa<llvm::BinaryOperator>(i) ? 1 : 0;
  }
  return wide;
}

// A function (i32, i32, i64) to i64 of sums, products, quotients, branches and a loop.
class RandomFunction {
 public:
  RandomFunction(llvm::Module& module, uint32_t seed) : random_(seed), b_(module.getContext()) {
    llvm::Type* types[] = {b_.getInt32Ty(), b_.getInt32Ty(), b_.getInt64Ty()};
    function_ = llvm::Function::Create(llvm::FunctionType::get(b_.getInt64Ty(), types, false),
                                       llvm::Function::ExternalLinkage, "f", module);
    b_.SetInsertPoint(llvm::BasicBlock::Create(b_.getContext(), "entry", function_));
    for (const unsigned a : {0u, 1u}) {
      Value* below = b_.CreateURem(function_->getArg(a), b_.getInt32(1 + Below(1u << Below(20))));
      values_.push_back(b_.CreateZExt(below, b_.getInt64Ty()));
    }
    values_.push_back(function_->getArg(2));
    for (int i = 0; i < 6; ++i) values_.push_back(Operation());
    Branch();
    Loop();
    Value* sum = b_.getInt64(0);
    for (Value* each : values_)
      sum = b_.CreateXor(b_.CreateMul(sum, b_.getInt64(0x9e3779b97f4a7c15)), each);
    b_.CreateRet(sum);
  }

  llvm::Function& function() { return *function_; }

 private:
  uint32_t Below(uint32_t end) { return static_cast<uint32_t>(random_() % end); }
  Value* Any() { return values_[Below(static_cast<uint32_t>(values_.size()))]; }
  Value* Number() { return b_.getInt64(1 + Below(1u << Below(18))); }

  // Odd and not negative, so neither 0 nor -1.
  Value* Divisor(Value* y) {
    return b_.CreateOr(b_.CreateAnd(y, b_.getInt64(0xffffffff)), b_.getInt64(1));
  }

  Value* Operation() {
    Value* x = Any();
    Value* y = Below(2) == 0 ? Any() : Number();
    switch (Below(18)) {
      case 0:
        return b_.CreateAdd(x, y);
      case 1:
        return b_.CreateSub(x, y);
      case 2:
        return b_.CreateMul(x, y);
      case 3:
        return b_.CreateUDiv(x, Number());
      case 4:
        return b_.CreateURem(x, Number());
      case 5:
        return b_.CreateShl(x, b_.getInt64(Below(12)));
      case 6:
        return b_.CreateLShr(x, b_.getInt64(Below(40)));
      case 7:
        return b_.CreateAnd(x, y);
      case 8:
        return b_.CreateOr(x, y);
      case 9:
        return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, x, y);
      case 10:
        return b_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, x, y);
      case 11:
        return b_.CreateSelect(b_.CreateICmp(Predicate(), x, y), Any(), Any());
      case 12:
        return b_.CreateAShr(x, b_.getInt64(Below(20)));
      case 13:
        return b_.CreateSDiv(x, Divisor(y));
      case 14:
        return b_.CreateSRem(x, Divisor(y));
      case 15:
        return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, x, y);
      case 16:
        return b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, x, y);
      default:
        return b_.CreateFPToSI(b_.CreateSIToFP(b_.CreateAShr(x, b_.getInt64(12)), b_.getDoubleTy()),
                               b_.getInt64Ty());
    }
  }

  llvm::CmpInst::Predicate Predicate() {
    using enum llvm::CmpInst::Predicate;
    constexpr llvm::CmpInst::Predicate kAll[] = {ICMP_EQ,  ICMP_NE,  ICMP_ULT, ICMP_ULE,
                                                 ICMP_SGT, ICMP_SGE, ICMP_SLT, ICMP_UGT};
    return kAll[Below(8)];
  }

  llvm::BasicBlock* Block() { return llvm::BasicBlock::Create(b_.getContext(), "", function_); }

  // What is behind a comparison is known of its operands there.
  void Branch() {
    llvm::BasicBlock *then = Block(), *behind = Block(), *before = b_.GetInsertBlock();
    Value* otherwise = Any();
    b_.CreateCondBr(b_.CreateICmp(Predicate(), Any(), Number()), then, behind);
    b_.SetInsertPoint(then);
    const size_t count = values_.size();
    for (int i = 0; i < 5; ++i) values_.push_back(Operation());
    Value* last = values_.back();
    values_.resize(count);
    b_.CreateBr(behind);
    b_.SetInsertPoint(behind);
    llvm::PHINode* phi = b_.CreatePHI(b_.getInt64Ty(), 2);
    phi->addIncoming(otherwise, before);
    phi->addIncoming(last, then);
    values_.push_back(phi);
  }

  void Loop() {
    llvm::BasicBlock *round = Block(), *behind = Block(), *before = b_.GetInsertBlock();
    Value* initial = Any();
    b_.CreateBr(round);
    b_.SetInsertPoint(round);
    llvm::PHINode* i = b_.CreatePHI(b_.getInt64Ty(), 2);
    llvm::PHINode* sum = b_.CreatePHI(b_.getInt64Ty(), 2);
    i->addIncoming(b_.getInt64(Below(9)), before);
    sum->addIncoming(initial, before);
    const size_t count = values_.size();
    values_.insert(values_.end(), {i, sum, i});
    for (int k = 0; k < 5; ++k) values_.push_back(Operation());
    Value* next = Below(2) == 0 ? b_.CreateAdd(sum, values_.back()) : values_.back();
    values_.resize(count);
    Value* next_i = b_.CreateNSWAdd(i, b_.getInt64(1 + Below(7)));
    i->addIncoming(next_i, round);
    sum->addIncoming(next, round);
    b_.CreateCondBr(b_.CreateICmpSLT(next_i, b_.getInt64(10 + Below(40))), round, behind);
    b_.SetInsertPoint(behind);
    values_.push_back(next);
  }

  std::mt19937 random_;
  llvm::IRBuilder<> b_;
  llvm::Function* function_;
  std::vector<Value*> values_;
};

// What an instruction says of its operands.
void ExpectTrue(const llvm::Instruction& i, const std::vector<llvm::Constant*>& operands) {
  const auto number = [&](size_t k) {
    return llvm::cast<llvm::ConstantInt>(operands[k])->getValue();
  };
  if (const auto* sum = llvm::dyn_cast<llvm::OverflowingBinaryOperator>(&i)) {
    const APInt x = number(0), y = number(1);
    bool is_signed = false, is_unsigned = false;
    switch (i.getOpcode()) {
      case llvm::Instruction::Add:
        (void)x.sadd_ov(y, is_signed), (void)x.uadd_ov(y, is_unsigned);
        break;
      case llvm::Instruction::Sub:
        (void)x.ssub_ov(y, is_signed), (void)x.usub_ov(y, is_unsigned);
        break;
      case llvm::Instruction::Mul:
        (void)x.smul_ov(y, is_signed), (void)x.umul_ov(y, is_unsigned);
        break;
      default:
        (void)x.sshl_ov(y, is_signed), (void)x.ushl_ov(y, is_unsigned);
    }
    EXPECT_FALSE(sum->hasNoSignedWrap() && is_signed);
    EXPECT_FALSE(sum->hasNoUnsignedWrap() && is_unsigned);
  } else if (const auto* either = llvm::dyn_cast<llvm::PossiblyDisjointInst>(&i)) {
    EXPECT_FALSE(either->isDisjoint() && number(0).intersects(number(1)));
  } else if (const auto* wider = llvm::dyn_cast<llvm::PossiblyNonNegInst>(&i)) {
    EXPECT_FALSE(wider->hasNonNeg() && number(0).isNegative());
  }
}

// The result for some arguments, instruction by instruction; none of a loop that does not end soon.
uint64_t Evaluate(const llvm::Function& function, const std::vector<uint64_t>& arguments) {
  std::map<const Value*, llvm::Constant*> values;
  const llvm::DataLayout& layout = function.getParent()->getDataLayout();
  for (size_t a = 0; a < arguments.size(); ++a) {
    const llvm::Argument* argument = function.getArg(static_cast<unsigned>(a));
    values[argument] = llvm::ConstantInt::get(argument->getType(), arguments[a]);
  }
  const auto value_of = [&](Value* value) {
    auto* constant = llvm::dyn_cast<llvm::Constant>(value);
    return constant != nullptr ? constant : values.at(value);
  };
  const llvm::BasicBlock *block = &function.getEntryBlock(), *from = nullptr;
  for (int steps = 0; steps < 1000; ++steps) {
    std::map<const Value*, llvm::Constant*> phis;
    for (const llvm::PHINode& phi : block->phis()) {
      phis[&phi] = value_of(phi.getIncomingValueForBlock(from));
    }
    for (const auto& [phi, value] : phis) values[phi] = value;
    for (const llvm::Instruction& i : *block) {
      if (llvm::isa<llvm::PHINode>(i) || i.isTerminator()) continue;
      std::vector<llvm::Constant*> operands;
      for (Value* operand : i.operands()) operands.push_back(value_of(operand));
      ExpectTrue(i, operands);
      auto* copy = const_cast<llvm::Instruction*>(&i);
      values[&i] =
          llvm::isa<llvm::ICmpInst>(i)
              ? llvm::ConstantFoldCompareInstOperands(llvm::cast<llvm::ICmpInst>(i).getPredicate(),
                                                      operands[0], operands[1], layout)
              : llvm::ConstantFoldInstOperands(copy, operands, layout);
    }
    const llvm::Instruction* last = block->getTerminator();
    if (const auto* end = llvm::dyn_cast<llvm::ReturnInst>(last)) {
      return llvm::cast<llvm::ConstantInt>(value_of(end->getReturnValue()))->getZExtValue();
    }
    const auto* branch = llvm::cast<llvm::BranchInst>(last);
    const bool is_taken =
        !branch->isConditional() || value_of(branch->getCondition())->isOneValue();
    from = std::exchange(block, branch->getSuccessor(is_taken ? 0 : 1));
  }
  ADD_FAILURE() << "a loop that does not end";
  return 0;
}

TEST(NarrowIntegers, KeepAllNumbers) {
  int64_t before = 0, after = 0;
  for (uint32_t seed = 0; seed < 400; ++seed) {
    llvm::LLVMContext context;
    llvm::Module module("m", context);
    llvm::Function& wide = RandomFunction(module, seed).function();
    llvm::ValueToValueMapTy copies;
    llvm::Function* const narrow = llvm::CloneFunction(&wide, copies);
    Narrow(*narrow);
    ASSERT_FALSE(llvm::verifyFunction(*narrow, &llvm::errs())) << seed;
    before += WideOperations(wide);
    after += WideOperations(*narrow);
    std::mt19937_64 random(seed);
    for (int k = 0; k < 20; ++k) {
      const std::vector<uint64_t> arguments = {random() >> (32 + random() % 32),
                                               random() >> (32 + random() % 32),
                                               random() >> (random() % 64)};
      ASSERT_EQ(Evaluate(wide, arguments), Evaluate(*narrow, arguments)) << seed;
    }
    ASSERT_FALSE(HasFailure()) << seed;
  }
  EXPECT_LT(after * 5, before * 4) << before;  // the sums of results are wide
}

std::string PtxOf(const std::string& text) {
  const auto module = hlo::Parsed(text);
  const hlo::InstructionId kernels[] = {module->entry().root};
  const auto code = GenerateGpuCode(module, kernels, {.target = "sm_80", .verify = true});
  EXPECT_TRUE(code.has_value()) << code.error().ToString();
  return code.has_value() ? code->modules.at(0) : "";
}

std::string Slice(int64_t rows) {
  return fmt::format(
      "HloModule m\nENTRY e {{\np = s8[{0},3,5] parameter(0)\nROOT t = s8[3,{0},5] transpose(p), "
      "dimensions={{1,0,2}}\n}}\n",
      rows);
}

TEST(NarrowIntegers, AreTheIndicesOfSmallArraysAlone) {
  const std::string small = PtxOf(Slice(1001));
  for (const char* wide : {"mul.hi.u64", "mul.lo.s64", "shr.u64", "setp.lt.s64"}) {
    EXPECT_EQ(small.find(wide), std::string::npos) << small;
  }
  EXPECT_NE(PtxOf(Slice(1001001001)).find("mul.hi.u64"), std::string::npos);
}

// 128 blocks of 128 threads have an element each: there is nothing to ask.
TEST(NarrowIntegers, LeaveOutWhatEveryThreadFulfils) {
  const auto text = [](int count) {
    return fmt::format(
        "HloModule m\nENTRY e {{\np = f32[{0}] parameter(0)\nROOT n = f32[{0}] negate(p)\n}}\n",
        count);
  };
  EXPECT_EQ(PtxOf(text(16384)).find("setp"), std::string::npos);
  EXPECT_NE(PtxOf(text(16385)).find("setp"), std::string::npos);
}

// In 32 bits LLVM does not see of all rows of a product that its results lie side by side.
TEST(NarrowIntegers, LeaveElementsSideBySide) {
  const std::string text = PtxOf(
      "HloModule m\nENTRY e {\na = f32[64,256,64] parameter(0)\nb = f32[64,64,256] parameter(1)\n"
      "ROOT d = f32[64,256,256] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0}, "
      "lhs_contracting_dims={2}, rhs_contracting_dims={1}\n}\n");
  EXPECT_NE(text.find("st.global.v4.f32"), std::string::npos);
  EXPECT_EQ(text.find("st.global.f32"), std::string::npos) << text;
}

}  // namespace
}  // namespace hloscope::codegen
