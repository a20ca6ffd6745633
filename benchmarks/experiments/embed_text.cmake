# cmake -DIN=file -DOUT=header -DNAME=symbol -P embed_text.cmake: a text file as a C++ string constant.
file(READ ${IN} text)
file(WRITE ${OUT}
     "#pragma once\nnamespace tferry::experiments {\ninline constexpr char ${NAME}[] = R\"tferry(${text})tferry\";\n}\n")
