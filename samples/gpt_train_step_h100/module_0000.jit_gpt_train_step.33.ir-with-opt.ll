; ModuleID = 'LLVMDialectModule'
source_filename = "LLVMDialectModule"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

; Function Attrs: nounwind
define ptx_kernel void @wrapped_convert_7(ptr noalias nofree readonly align 16 captures(none) dereferenceable(12582912) %0, ptr noalias nofree writeonly align 256 captures(none) dereferenceable(6291456) %1) local_unnamed_addr #0 {
  %3 = addrspacecast ptr %0 to ptr addrspace(1)
  %4 = addrspacecast ptr %1 to ptr addrspace(1)
  tail call void @llvm.nvvm.griddepcontrol.wait()
  %5 = tail call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x(), !range !2
  %6 = tail call i32 @llvm.nvvm.read.ptx.sreg.tid.x(), !range !3
  %7 = shl nuw nsw i32 %6, 2
  %8 = shl nuw nsw i32 %5, 9
  %9 = or disjoint i32 %7, %8
  %10 = zext nneg i32 %9 to i64
  %11 = getelementptr inbounds [4 x i8], ptr addrspace(1) %3, i64 %10
  %12 = load <4 x float>, ptr addrspace(1) %11, align 16, !invariant.load !0
  %13 = extractelement <4 x float> %12, i64 0
  %14 = extractelement <4 x float> %12, i64 1
  %15 = extractelement <4 x float> %12, i64 2
  %16 = extractelement <4 x float> %12, i64 3
  %17 = fptrunc float %13 to bfloat
  %18 = fptrunc float %14 to bfloat
  %19 = fptrunc float %15 to bfloat
  %20 = fptrunc float %16 to bfloat
  %21 = insertelement <4 x bfloat> poison, bfloat %17, i64 0
  %22 = insertelement <4 x bfloat> %21, bfloat %18, i64 1
  %23 = insertelement <4 x bfloat> %22, bfloat %19, i64 2
  %24 = insertelement <4 x bfloat> %23, bfloat %20, i64 3
  %25 = getelementptr inbounds [2 x i8], ptr addrspace(1) %4, i64 %10
  store <4 x bfloat> %24, ptr addrspace(1) %25, align 8
  ret void
}

; Function Attrs: nounwind
declare void @llvm.nvvm.griddepcontrol.wait() #1

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 2147483647) i32 @llvm.nvvm.read.ptx.sreg.ctaid.x() #2

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x() #2

attributes #0 = { nounwind "nvvm.reqntid"="128,1,1" }
attributes #1 = { nounwind }
attributes #2 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }

!llvm.module.flags = !{!1, !4}

!0 = !{}
!1 = !{i32 2, !"Debug Info Version", i32 3}
!2 = !{i32 0, i32 6144}
!3 = !{i32 0, i32 128}
!4 = !{i32 4, !"nvvm-reflect-ftz", i32 0}
