%% A guard: the absolute value of X, an integer, is less than 2^64. The number itself would be a literal of the module (merge.escript).
-define(FITS_64(X), (X bsr 64 =:= 0 orelse (-X) bsr 64 =:= 0)).
