; ModuleID = 'LLVMDialectModule'
source_filename = "LLVMDialectModule"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

; Function Attrs: nounwind
define ptx_kernel void @loop_transpose_fusion(ptr nofree readonly align 256 captures(none) dereferenceable(3072) %0, ptr noalias nofree writeonly align 256 captures(none) dereferenceable(3072) %1) local_unnamed_addr #0 {
  %3 = addrspacecast ptr %0 to ptr addrspace(1)
  %4 = addrspacecast ptr %1 to ptr addrspace(1)
  tail call void @llvm.nvvm.griddepcontrol.wait()
  %5 = tail call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x(), !range !1
  %6 = tail call i32 @llvm.nvvm.read.ptx.sreg.tid.x(), !range !2
  %7 = lshr i32 %6, 3
  %8 = and i32 %7, 3
  %9 = mul nuw nsw i32 %8, 96
  %10 = and i32 %6, 7
  %11 = mul nuw nsw i32 %10, 12
  %12 = udiv i32 %5, 3
  %13 = mul i32 %12, 3
  %.decomposed = sub i32 %5, %13
  %14 = shl nuw nsw i32 %.decomposed, 2
  %15 = mul nuw nsw i32 %12, 384
  %16 = lshr i32 %6, 5
  %17 = or disjoint i32 %11, %16
  %18 = add nuw nsw i32 %17, %14
  %19 = add nuw nsw i32 %18, %15
  %20 = add nuw nsw i32 %19, %9
  %21 = zext nneg i32 %20 to i64
  %22 = getelementptr inbounds [4 x i8], ptr addrspace(1) %3, i64 %21
  %23 = load float, ptr addrspace(1) %22, align 4
  %24 = shl nuw nsw i32 %5, 7
  %25 = or disjoint i32 %24, %6
  %26 = zext nneg i32 %25 to i64
  %27 = getelementptr inbounds [4 x i8], ptr addrspace(1) %4, i64 %26
  store float %23, ptr addrspace(1) %27, align 4
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

!llvm.module.flags = !{!0, !3}

!0 = !{i32 2, !"Debug Info Version", i32 3}
!1 = !{i32 0, i32 6}
!2 = !{i32 0, i32 128}
!3 = !{i32 4, !"nvvm-reflect-ftz", i32 0}
