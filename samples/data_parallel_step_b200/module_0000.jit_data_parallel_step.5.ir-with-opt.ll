; ModuleID = 'LLVMDialectModule'
source_filename = "LLVMDialectModule"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

; Function Attrs: nounwind
define ptx_kernel void @loop_multiply_subtract_fusion(ptr noalias nofree readonly align 256 captures(none) dereferenceable(1024) %0, ptr noalias nofree readonly align 16 captures(none) dereferenceable(1024) %1, ptr noalias nofree writeonly align 256 captures(none) dereferenceable(1024) %2, ptr noalias nofree writeonly align 256 captures(none) dereferenceable(1024) %3) local_unnamed_addr #0 {
  %5 = addrspacecast ptr %0 to ptr addrspace(1)
  %6 = addrspacecast ptr %1 to ptr addrspace(1)
  %7 = addrspacecast ptr %2 to ptr addrspace(1)
  %8 = addrspacecast ptr %3 to ptr addrspace(1)
  tail call void @llvm.nvvm.griddepcontrol.wait()
  %9 = tail call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x(), !range !2
  %10 = tail call i32 @llvm.nvvm.read.ptx.sreg.tid.x(), !range !3
  %11 = shl nuw nsw i32 %9, 7
  %12 = or disjoint i32 %11, %10
  %13 = zext nneg i32 %12 to i64
  %14 = getelementptr inbounds [4 x i8], ptr addrspace(1) %5, i64 %13
  %15 = load float, ptr addrspace(1) %14, align 4, !invariant.load !0
  %16 = getelementptr inbounds [4 x i8], ptr addrspace(1) %6, i64 %13
  %17 = load float, ptr addrspace(1) %16, align 4, !invariant.load !0
  %18 = fsub float %15, %17
  %19 = fmul float %18, 2.000000e+00
  %20 = fmul float %19, f0x3A800000
  %21 = getelementptr inbounds [4 x i8], ptr addrspace(1) %7, i64 %13
  store float %20, ptr addrspace(1) %21, align 4
  %22 = getelementptr inbounds [4 x i8], ptr addrspace(1) %8, i64 %13
  store float %18, ptr addrspace(1) %22, align 4
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
!2 = !{i32 0, i32 2}
!3 = !{i32 0, i32 128}
!4 = !{i32 4, !"nvvm-reflect-ftz", i32 0}
